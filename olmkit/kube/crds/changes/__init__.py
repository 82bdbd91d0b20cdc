"""What changes between two CustomResourceDefinitions, and which objects it affects.

Whether one of them alone is valid is in `kube.crds`.
"""
