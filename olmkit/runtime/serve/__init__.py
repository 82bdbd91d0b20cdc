"""The servers of an operator: webhooks, probes, metrics, and their certificates.

What metrics are counted is in `runtime.metrics`.
"""
