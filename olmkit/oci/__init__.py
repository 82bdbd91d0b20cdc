"""OCI images as values: manifests, configs, layers, references, and the interface of stores.

No network and no disk: `edges.images` implements the port.
"""
