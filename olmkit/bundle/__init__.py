"""Registry+v1 bundles: reading them leniently, generating them, their Containerfile and image.

What is wrong with a bundle is said in `rules`; catalogs are in `catalog`.
"""
