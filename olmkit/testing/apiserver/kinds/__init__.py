"""Kinds of the API server double: discovery, schemas and stored objects.

`testing.apiserver.server` answers requests.
"""
