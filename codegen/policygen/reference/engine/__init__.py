"""Kernels of an inference engine, which use the policies of the algorithms that they are made of."""
