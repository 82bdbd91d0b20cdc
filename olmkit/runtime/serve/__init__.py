"""The servers of an operator: webhooks, probes, metrics, and their certificates.

The metrics themselves are in `runtime.metrics`.
"""
