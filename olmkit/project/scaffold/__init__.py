"""The files that `init`, `create` and `edit` create or change.

The text of the files is in `project/templates`.
"""
