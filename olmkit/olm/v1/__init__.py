"""OLM v1: the objects that install an operator, and what its conditions mean."""
