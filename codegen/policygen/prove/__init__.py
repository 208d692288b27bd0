"""Proof: what the compiler says the kernels of a target's policies cost, and CUB running on them."""
