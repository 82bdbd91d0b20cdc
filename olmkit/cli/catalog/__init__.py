"""The commands of `olmkit catalog`.

They share nothing with other groups but `cli.frame`.
"""
