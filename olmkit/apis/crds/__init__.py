"""The model of kinds → schemas and CRDs, checked as the API server would.

How the sources were read is not known here. Roles, webhooks and CSV parts are made in `apis`.
"""
