"""The hub: pages about the contents of catalogs, as values and as HTML.

Files are written and served by edges.
"""
