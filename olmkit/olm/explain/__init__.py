"""Why an operator does not get installed: from the Subscription down to the pod.

The state of the cluster comes in as a value, `olm.cluster_state`.
"""
