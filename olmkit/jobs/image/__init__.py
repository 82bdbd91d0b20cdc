"""Building, inspecting, copying and publishing images.

What a bundle's or catalog's image holds is decided in `bundle.image` and `catalog.image`.
"""
