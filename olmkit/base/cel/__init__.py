"""The Common Expression Language: parse, type-check and evaluate expressions.

The use of expressions in CRDs and catalogs is not here.
"""
