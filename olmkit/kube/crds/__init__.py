"""What the API server accepts in a CustomResourceDefinition, and in objects of its kind.

Generating CRDs from sources is in `apis.crds`.
"""
