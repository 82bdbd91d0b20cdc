"""File-based catalogs: `blobs` is their written form, `model` their meaning.

What is wrong with a catalog is said in `rules`; what OLM would choose is in `olm.resolver`.
"""
