"""Helm operators: releases, their drift and status as values; the reconciler that runs Helm.

`edges.programs.helm` runs the program Helm.
"""
