"""Manifests → the files of a bundle.

Bundles are read by `bundle.layout`; the CSV is described by `bundle.model`.
"""
