"""Why pods do not get ready: images, containers, probes, scheduling, and what a pod names.

What created the Deployments and Jobs is not known here.
"""
