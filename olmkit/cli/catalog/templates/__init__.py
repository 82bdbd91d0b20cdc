"""Commands about catalog templates.

Their work is done in `jobs.catalog.templates`.
"""
