"""Edit YAML, Python and TOML files, keeping comments and layout.

The callers decide what to insert.
"""
