"""Read index databases, the older SQLite form of catalogs.

What the tables hold is a value here; opening a file is `olmkit.edges.index_database`.
"""
