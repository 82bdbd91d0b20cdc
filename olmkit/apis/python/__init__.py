"""Python source text → the model of kinds in `apis.model`.

Nothing here depends on Go; the common parts of both languages are in `apis` and `apis.markers`.
"""
