"""OLM v1: the objects that install an operator, and what its conditions mean.

The choice of OLM v1 from catalogs is in `olm.resolver.v1`; OLM v0 is in `olm` and `olm.explain`.
"""
