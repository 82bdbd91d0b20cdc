"""The commands of a project: init, create, edit, generate, render, run.

They share nothing with other groups but `cli.frame`.
"""
