"""Generate schemas and CRDs from the model of kinds, and validate them like the API server.

This package does not know how the sources were read. Roles, webhooks and CSV parts are generated in
`apis`.
"""
