"""File-based catalogs: `blobs` is their written form, `model` their meaning.

Rules for catalogs are in `rules`; the choice of OLM is in `olm.resolver`.
"""
