"""olmkit: the whole life of a Kubernetes operator on OLM, from types to upgrades."""

__version__ = "0.1.0"
