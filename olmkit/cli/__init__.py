"""The command line: `table` has the commands, each folder one group of them.

A command turns words into a job and its result into words; the work is in `jobs`.
"""
