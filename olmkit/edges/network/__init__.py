"""HTTP clients and servers: deadlines and limits, URLs, proxies.

What is said to a registry, an API server or a catalog is in the packages next to this one.
"""
