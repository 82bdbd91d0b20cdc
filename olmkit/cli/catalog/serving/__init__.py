"""Commands that serve catalogs, here and on Kubernetes."""
