"""The written form of catalogs: blobs, their fields and properties, files of blobs.

What blobs mean together (packages, channels, graphs) is in `catalog.model` and `catalog.graph`.
"""
