"""Python: spelling, statements, and the generated modules."""
