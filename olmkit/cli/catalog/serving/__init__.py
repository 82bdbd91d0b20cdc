"""Commands that serve catalogs, on this machine and on Kubernetes.

Their work is done in `jobs.catalog.serving`.
"""
