"""Commands about installs and upgrade paths from a catalog.

Their work is done in `jobs.catalog.upgrades`; upgrades of a cluster are in `cli.cluster`.
"""
