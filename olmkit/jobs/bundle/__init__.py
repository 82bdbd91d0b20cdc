"""Generating, validating and building bundles.

Installing a bundle is in `jobs.cluster`.
"""
