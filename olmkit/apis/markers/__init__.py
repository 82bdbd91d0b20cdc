"""The marker language: `+name:argument=value` in comments, the table of markers, its pages.

The effect of a marker on a schema or a role is described where that is generated.
"""
