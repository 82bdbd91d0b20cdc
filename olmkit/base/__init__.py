"""Modules that every package may use: findings, trees of files, documents, versions, names.

Nothing here knows Kubernetes, OLM or images, or touches the world.
"""
