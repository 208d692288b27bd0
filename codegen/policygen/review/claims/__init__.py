"""What the source notes claim of CUB, as data, each with a function that recomputes it from specs, plans and rules."""
