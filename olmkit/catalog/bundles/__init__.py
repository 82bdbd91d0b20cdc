"""A bundle as catalogs hold it: rendering, and migrating to newer forms.

Generating and validating bundles is in `bundle` and `rules`.
"""
