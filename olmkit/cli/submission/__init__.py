"""The commands of `olmkit submit`.

They share only `cli.frame` with other groups.
"""
