"""Client operations that bypass the cache: subresources, patches, pages, watches, pods.

Reading from the cache and writing objects is in `runtime.client`.
"""
