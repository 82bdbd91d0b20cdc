"""Change catalogs: additions, edits, filters, differences.

No disk here: the files are values, and jobs write them.
"""
