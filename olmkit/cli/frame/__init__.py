"""Common parts of commands: groups of options, terminal, output formats, exit codes.

No command is here, and nothing that only one group of commands needs.
"""
