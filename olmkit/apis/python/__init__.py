"""Python source text → the model of kinds in `apis.model`.

Nothing here knows Go; what both languages share is in `apis` and `apis.markers`.
"""
