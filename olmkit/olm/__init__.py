"""The objects with which users request installs from OLM, and the state of OLM in a cluster.

Nothing here connects to a cluster; catalogs as files are in `catalog`.
"""
