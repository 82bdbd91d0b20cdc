"""Which files `init`, `create` and `edit` make or change.

The text of the files is in `project/templates`.
"""
