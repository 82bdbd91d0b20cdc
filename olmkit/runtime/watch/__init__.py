"""From the API server to events: caches, their scope, sources, predicates and handlers.

`runtime.work` handles the requests that come out of them.
"""
