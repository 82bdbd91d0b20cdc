"""Explain why pods are not ready: images, containers, probes, scheduling, missing objects.

What created the Deployments and Jobs is not known here.
"""
