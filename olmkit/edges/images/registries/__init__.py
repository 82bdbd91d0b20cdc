"""Registries over HTTP: requests, credentials, uploads, lists and mirrors.

`edges.images.transports` selects the store of an image; HTTP itself is in `edges.network`.
"""
