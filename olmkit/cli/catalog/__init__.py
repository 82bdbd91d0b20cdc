"""The commands of `olmkit catalog`.

They share only `cli.frame` with other groups.
"""
