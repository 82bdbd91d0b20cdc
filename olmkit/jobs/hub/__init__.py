"""The pages of catalogs: planned and written into a folder, or served.

What they show is made in `olmkit.hub`.
"""
