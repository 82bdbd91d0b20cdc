"""Jobs that generate, validate and build bundles.

`jobs.cluster` installs bundles.
"""
