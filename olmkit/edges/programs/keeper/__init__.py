"""Processes that end with the operator, whatever ends it.

`program` is a small process that waits for the end of the operator. `marks` starts it, and marks
the processes that it ends.
"""
