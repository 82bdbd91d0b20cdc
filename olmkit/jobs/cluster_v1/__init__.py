"""Installing, upgrading and removing operators through OLM v1.

OLM v0 is in `jobs.cluster_v0`; neither knows the other.
"""
