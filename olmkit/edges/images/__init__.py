"""Stores of images: registries, OCI layouts, Docker archives and engines, and copies between them.

Images as values are in `oci`; reading an image as a bundle or catalog is not done here.
"""
