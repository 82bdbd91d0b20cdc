"""The commands of `olmkit bundle`.

They share only `cli.frame` with other groups.
"""
