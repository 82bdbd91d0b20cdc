"""The objects that request something from OLM, and the meaning of its objects in a cluster.

Nothing here talks to a cluster; catalogs as files are in `catalog`.
"""
