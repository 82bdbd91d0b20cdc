"""What a catalog server works with: its settings, prepared catalogs, their stores and changes.

The servers themselves are started in `jobs.catalog.serve`.
"""
