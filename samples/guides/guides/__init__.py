"""The operators of the how-to guides, one module each."""
