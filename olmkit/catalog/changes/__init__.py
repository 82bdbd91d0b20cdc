"""Change catalogs: additions, edits, filters, differences.

No disk access here: the files are values, and jobs write them.
"""
