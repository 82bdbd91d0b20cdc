"""Jobs in a user's project: scaffold, generate from types, render overlays, run the operator.

`jobs.bundle` generates bundles of a project.
"""
