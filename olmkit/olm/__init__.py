"""What OLM is asked for as objects, and what its objects in a cluster mean.

Nothing here talks to a cluster; catalogs as files are in `catalog`.
"""
