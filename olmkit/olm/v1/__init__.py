"""OLM v1: the objects that install an operator, and what its conditions mean.

What OLM v1 chooses from catalogs is in `olm.resolver.v1`; OLM v0 is in `olm` and `olm.explain`.
"""
