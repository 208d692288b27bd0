"""C++: spelling, statements, and the standalone header."""
