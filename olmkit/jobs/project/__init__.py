"""A user's project: scaffolding, generating from types, rendering overlays, running the operator.

Bundles of a project are made in `jobs.bundle`.
"""
