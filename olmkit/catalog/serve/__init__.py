"""The responses of a served catalog: index, messages, and queries of `api.Registry`.

The servers themselves are in `edges.catalog`.
"""
