"""Render catalogs from templates, and convert catalogs to templates.

`catalog.templates` expands templates.
"""
