"""Kernels of an inference engine, which use the policies of the algorithms that they are made of.

| kernel | policies of | what it is |
|---|---|---|
| `online_softmax` | `reduce` | (maximum, sum, output) in one accumulator, through the tiles of a reduction |
| `moments` | `reduce` | (n, mean, M2, M3, M4), likewise |
| `partition_merge` | `reduce` | partitions of an attention merged by a block for each head |
| `paged_attention` | `reduce` | a step of decoding over pages, in one pass or by partitions |
| `rms_norm` | `transform` | rows normalised, by a warp or a block each |
| `silu_and_mul` | `transform` | the activation of a gated layer |
| `rotary_embedding` | `transform` | pairs turned by their token's position |
| `moe_topk` | `batched_topk` | the experts of each token, and their weights |
| `moe_align` | `radix_sort` | pairs sorted by expert, into whole blocks |
| `moe_combine` | `transform` | the weighted sum of what experts gave |

What an engine chooses itself, such as the size of a page, of a partition or of a block of an expert, is a field of the
problem.
"""
