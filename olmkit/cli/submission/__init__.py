"""The commands of `olmkit submit`.

They share nothing with other groups but `cli.frame`.
"""
