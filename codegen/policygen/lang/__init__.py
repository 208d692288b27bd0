"""The expression language: one tree, evaluated and printed as C++ and as Python."""
