"""Emission: from a folded policy table to files in the output folder."""
