"""Catalogs from templates, and templates from catalogs."""
