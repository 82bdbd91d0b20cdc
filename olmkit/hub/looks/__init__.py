"""How the hub looks: page values → HTML, and the files that all pages share.

Nothing here reads a catalog or touches the disk.
"""
