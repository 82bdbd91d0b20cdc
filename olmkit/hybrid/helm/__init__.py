"""Helm operators: releases, their drift and status as values; the reconciler that runs Helm.

The program helm itself is run through `edges.helm`.
"""
