"""The commands of `olmkit image`.

They share only `cli.frame` with other groups.
"""
