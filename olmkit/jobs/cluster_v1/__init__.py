"""Jobs that install, upgrade and remove operators through OLM v1.

OLM v0 is in `jobs.cluster_v0`; the two packages are independent.
"""
