"""Render bundles for catalogs, and migrate them to newer forms.

Generating and validating bundles is in `bundle` and `rules`.
"""
