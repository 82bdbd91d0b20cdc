"""From types and markers in source text to one model of kinds, and from that to manifests.

User code is read as text and never imported. No disk or cluster is accessed: external packages come
through a port.
"""
