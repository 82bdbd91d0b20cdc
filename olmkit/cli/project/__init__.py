"""The commands of a project: init, create, edit, generate, render, run.

They share only `cli.frame` with other groups.
"""
