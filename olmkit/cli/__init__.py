"""The command line: `main` has the table of commands, each folder one group of them.

A command turns words into a job and its result into words; the work is in `jobs`.
"""
