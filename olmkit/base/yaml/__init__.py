"""Read and write YAML like Go's yaml.v2; the only package that imports YAML libraries.

Callers use `base.documents`; edits of files that people wrote are in `project.edits`.
"""
