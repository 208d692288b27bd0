"""A policy-as-code compiler for GPU kernel tuning: specs in, CUDA headers and Python tables out."""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0"
