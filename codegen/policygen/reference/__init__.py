"""Reference kernels in torch: each algorithm as CUB runs it, tile by tile, as its policy says.

A module an algorithm, named like it. `contract` is what each of them fulfils, `values` are elements, operators and
inputs, `collectives` what a thread, a warp, a block or a grid does together, and `engine` the kernels of an inference
engine. torch is imported here and in `policygen.validate`, nowhere else.
"""
