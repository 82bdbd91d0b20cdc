"""The marker language: `+name:argument=value` in comments, the table of markers, its pages.

What a marker does to a schema or a role is said where that is made, not here.
"""
