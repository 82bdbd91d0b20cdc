"""Explain why an operator is not installed, from the Subscription down to the pod.

The state of the cluster comes in as a value, `olm.cluster_state`.
"""
