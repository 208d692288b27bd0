"""Reviewing a target: what is claimed of it and what its kernels take, as titled tables for people and for programs."""
