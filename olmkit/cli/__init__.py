"""The command line: `table` has the commands, and each folder has one group of them.

A command converts arguments to a call of a job, and its result to output; the work is in `jobs`.
"""
