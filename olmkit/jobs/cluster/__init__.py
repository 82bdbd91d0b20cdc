"""Jobs in a cluster with any OLM: reading, waiting, writing, status, deploying.

`jobs.cluster_v0` and `jobs.cluster_v1` install through OLM.
"""
