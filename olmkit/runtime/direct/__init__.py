"""What a client does with the server alone: subresources, patches, pages, watches, pods.

Reading from the cache and writing objects is in `runtime.client`.
"""
