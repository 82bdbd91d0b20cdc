"""The client of objects as plain manifests: reads, writes, and waiting for its own writes.

The client with classes of kinds is `olmkit.runtime.client`.
"""
