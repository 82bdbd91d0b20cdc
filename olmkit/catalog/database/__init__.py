"""Read index databases, the older SQLite form of catalogs.

The contents of the tables are values here; `olmkit.edges.index_database` opens files.
"""
