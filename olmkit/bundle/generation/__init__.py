"""Generate the files of a bundle from manifests.

Bundles are read by `bundle.layout`; the CSV is described by `bundle.model`.
"""
