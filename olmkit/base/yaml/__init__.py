"""YAML text, read and written as Go's yaml.v2 does; the only importer of YAML libraries.

Callers use `base.documents`; edits of files that people wrote are in `project.edits`.
"""
