"""Common parts of commands: groups of options, terminal, output formats, exit codes.

It contains no commands, and nothing that only one group of commands needs.
"""
