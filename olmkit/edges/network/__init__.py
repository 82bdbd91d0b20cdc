"""HTTP both ways: requests with deadlines and limits, URLs and proxies, servers.

What is said to a registry, an API server or a catalog is in the packages next to this one.
"""
