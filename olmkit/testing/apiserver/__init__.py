"""A test double of kube-apiserver on loopback.

`testing.control_plane` starts the real servers.
"""
