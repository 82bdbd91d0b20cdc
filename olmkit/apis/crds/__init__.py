"""Generate schemas and CRDs from the model of kinds, and validate them like the API server.

How the sources were read is not known here. Roles, webhooks and CSV parts are made in `apis`.
"""
