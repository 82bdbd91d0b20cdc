"""The Common Expression Language: parse, type-check and evaluate expressions.

What CRDs and catalogs do with an expression is not here.
"""
