"""Kubernetes' own types: whether an object fits them, and how they write it.

CustomResourceDefinitions are in `kube.crds`.
"""
