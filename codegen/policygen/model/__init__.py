"""The types between the stages: frozen, and free of any target language."""
