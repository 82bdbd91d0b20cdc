"""A user's project as values: its configuration, what its image holds, how its operator is run.

No disk here, and nothing of OLM: bundles are in `bundle`.
"""
