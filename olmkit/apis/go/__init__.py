"""Go source text → the model of kinds in `apis.model`, without a Go toolchain.

Nothing here depends on Python; the common parts of both languages are in `apis` and `apis.markers`.
"""
