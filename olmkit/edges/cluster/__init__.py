"""The API server over HTTP: kubeconfig, credentials, requests, watches.

The port that this fulfils is `kube.api.Cluster`; what objects mean is in `kube` and `olm`.
"""
