"""Installing, upgrading and removing operators through OLM v0.

OLM v1 is in `jobs.cluster_v1`; neither knows the other.
"""
