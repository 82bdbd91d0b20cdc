"""The commands of `olmkit hub`.

They share only `cli.frame` with other groups.
"""
