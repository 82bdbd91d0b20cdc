"""The commands of `olmkit image`.

They share nothing with other groups but `cli.frame`.
"""
