"""Catalogs from templates, and templates from catalogs.

How a template expands is in `catalog.templates`.
"""
