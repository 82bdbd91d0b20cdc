"""Filter catalogs, list the images that they need, and mirror both.

`catalog.changes` computes selections; `jobs.image` copies images.
"""
