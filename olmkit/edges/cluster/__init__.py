"""The API server over HTTP: kubeconfig, credentials, requests, watches.

This implements the port `kube.api.Cluster`; the meaning of objects is in `kube` and `olm`.
"""
