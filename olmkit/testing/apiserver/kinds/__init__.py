"""Kinds of the double of the API server: their discovery, schemas and stored objects.

Requests are answered by `testing.apiserver.server`.
"""
