"""Registry+v1 bundles: read them leniently, generate them, their Containerfile and image.

Rules for bundles are in `rules`; catalogs are in `catalog`.
"""
