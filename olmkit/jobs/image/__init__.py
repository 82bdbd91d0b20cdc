"""Jobs that build, inspect, copy, mirror, push and sign images.

`bundle.image` and `catalog.image` define the contents of bundle and catalog images.
"""
