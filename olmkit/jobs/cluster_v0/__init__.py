"""Jobs that install, upgrade and remove operators through OLM v0.

OLM v1 is in `jobs.cluster_v1`; the two packages are independent.
"""
