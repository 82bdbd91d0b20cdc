"""Where images are: registries, OCI layouts, Docker archives and engines, and copying between them.

Images as values are in `oci`; reading an image as a bundle or catalog is not done here.
"""
