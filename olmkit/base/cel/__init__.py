"""The Common Expression Language: reading, typing and evaluating expressions.

What CRDs and catalogs do with an expression is not here.
"""
