"""The part of kustomize that operator projects use.

Files are read by `jobs.project.overlay`.
"""
