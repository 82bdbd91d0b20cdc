"""Jobs that render, change, check, build and serve catalogs, and resolve packages from them.

None of them writes to a cluster, except for deploying a catalog server.
"""
