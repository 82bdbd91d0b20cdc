"""The appearance of the hub: page values → HTML, and the files that all pages share.

Nothing here reads a catalog or accesses the disk.
"""
