"""From the API server to events: caches, their scope, sources, predicates and handlers.

What happens to a request is in `runtime.work`.
"""
