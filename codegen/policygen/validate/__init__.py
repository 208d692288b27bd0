"""Validation: the reference kernels run with a target's policies, and are held against exact results."""
