"""Registries over HTTP: requests, credentials, uploads, lists and mirrors.

Where an image is at all is decided in `edges.images.transports`; HTTP itself is in `edges.network`.
"""
