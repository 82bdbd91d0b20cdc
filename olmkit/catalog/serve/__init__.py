"""What a served catalog answers: the index, the messages, the queries of `api.Registry`.

The servers themselves are in `edges.catalog`.
"""
