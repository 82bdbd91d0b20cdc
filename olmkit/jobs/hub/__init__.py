"""Jobs that build the pages of catalogs in a folder, or serve them.

`olmkit.hub` creates the pages.
"""
