"""HTTP clients and servers: deadlines and limits, URLs, proxies.

The protocols of registries, API servers and catalogs are in the packages next to this one.
"""
