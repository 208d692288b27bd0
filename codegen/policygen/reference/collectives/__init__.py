"""What a thread, a warp, a block or a grid does together, in CUB's order."""
