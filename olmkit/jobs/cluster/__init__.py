"""What is done in a cluster, whichever OLM it has: reading, waiting, writing, status, deploying.

Installs through OLM are in `jobs.cluster_v0` and `jobs.cluster_v1`.
"""
