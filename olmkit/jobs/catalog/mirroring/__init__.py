"""Parts of a catalog, the images they need, and copies of both.

Selections are worked out in `catalog.changes`; images move in `jobs.image`.
"""
