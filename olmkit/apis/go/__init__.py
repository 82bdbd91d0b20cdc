"""Go source text → the model of kinds in `apis.model`, without a Go toolchain.

Nothing here knows Python; what both languages share is in `apis` and `apis.markers`.
"""
