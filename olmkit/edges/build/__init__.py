"""Build: wheels for another platform, container engines, and the cache of both.

`project.image_plan` decides the contents of images; images as values are in `oci`.
"""
