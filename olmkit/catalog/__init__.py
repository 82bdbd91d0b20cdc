"""File-based catalogs: `blobs` is what is written, `model` what it means.

What is wrong with a catalog is said in `rules`; what OLM would choose is in `olm.resolver`.
"""
