"""Commands that select parts of a catalog and their images."""
