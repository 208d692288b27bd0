"""A policy-as-code compiler for GPU kernel tuning: specs in, CUDA headers and Python tables out.

Example:
    project = policygen.load(".")
    resolution = project.resolve("bi100", "reduce", accum_t="float32", operation_t="plus", offset_size=4)
    resolution.policy.multi_tile.threads_per_block
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["Project", "__version__", "load"]

__version__ = "0.1.0"

if TYPE_CHECKING:
    from policygen.project import Project as Project
    from policygen.project import load as load
else:

    def __getattr__(name: str) -> object:
        # the command line asks for the version alone, and should not wait for the rest
        if name in ("Project", "load"):
            from policygen import project

            return getattr(project, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
