"""A Kubernetes API on loopback for tests; it behaves as kube-apiserver does.

The real servers are started by `testing.control_plane`.
"""
