"""CCCL's own selectors, compiled and evaluated on the host."""
