"""Building: wheels for another platform, container engines, and the cache of both.

What an image holds is decided in `project.image_plan`; images as values are in `oci`.
"""
