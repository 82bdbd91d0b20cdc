"""Commands that select parts of a catalog and their images.

Their work is done in `jobs.catalog.mirroring`; `image mirror` is in `cli.image`.
"""
