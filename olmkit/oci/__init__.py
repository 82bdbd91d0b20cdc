"""OCI images as values: manifests, configs, layers, references, and the port to where images are.

No network and no disk: `edges.images` fulfils the port.
"""
