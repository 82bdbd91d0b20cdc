"""The commands of `olmkit hub`.

They share nothing with other groups but `cli.frame`.
"""
