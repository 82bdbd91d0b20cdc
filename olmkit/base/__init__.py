"""Modules that every package may use: findings, trees of files, documents, versions, names.

Nothing here depends on Kubernetes, OLM or images, or accesses external systems.
"""
