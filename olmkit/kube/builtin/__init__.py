"""Kubernetes' built-in types: validation and serialization of objects.

CustomResourceDefinitions are in `kube.crds`.
"""
