"""A user's project as values: its configuration, the contents of its image, running its operator.

It does not access the disk and does not depend on OLM: bundles are in `bundle`.
"""
