"""Index databases: catalogs in the SQLite form that came before file-based ones, read only.

What the tables hold is a value here; opening a file is `olmkit.edges.index_database`.
"""
