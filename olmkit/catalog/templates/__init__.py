"""Catalog templates: short forms of a catalog from which the whole one is rendered.

`source` reads a template and says which images it needs; `basic`, `semver` and `substitutes`
render one kind each, from the bundles of those images. Nothing here pulls an image.
"""
