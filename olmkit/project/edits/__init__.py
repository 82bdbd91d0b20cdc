"""Edit YAML, Python and TOML files, keeping comments and layout.

What is edited in is decided by the callers.
"""
