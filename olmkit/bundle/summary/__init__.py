"""Describe a bundle for people: permissions as text, APIs, images, upgrade edges.

The changes between two bundles are in `bundle.changes`.
"""
