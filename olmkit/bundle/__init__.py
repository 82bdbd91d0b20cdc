"""Registry+v1 bundles: read them leniently, generate them, their Containerfile and image.

What is wrong with a bundle is said in `rules`; catalogs are in `catalog`.
"""
