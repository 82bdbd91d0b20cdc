"""Edits of files that people wrote: YAML, Python and TOML, with comments and layout kept.

What is edited in is decided by the callers.
"""
