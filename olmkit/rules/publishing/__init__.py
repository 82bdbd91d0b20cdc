"""Rules for publishing a bundle: what catalogs, their pipelines and OLM v1 require in addition.

What every bundle must be, and which profile has which rules, is in `rules`.
"""
