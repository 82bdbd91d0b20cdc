"""Rules for publishing a bundle: further requirements of catalogs, their pipelines and OLM v1.

Rules for all bundles, and the rules of each profile, are in `rules`.
"""
