"""The commands of `olmkit bundle`.

They share nothing with other groups but `cli.frame`.
"""
