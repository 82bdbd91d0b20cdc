"""Explain why pods are not ready: images, containers, probes, scheduling, missing objects.

This package does not know what created the Deployments and Jobs.
"""
