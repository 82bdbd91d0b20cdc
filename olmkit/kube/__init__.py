"""Kubernetes objects as plain data, and the port to an API server.

No HTTP here: `edges.cluster` implements the port.
"""
