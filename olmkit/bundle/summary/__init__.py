"""What a bundle contains, in a form for people: permissions in words, APIs, images, upgrade edges.

What changes between two bundles is in `bundle.changes`.
"""
