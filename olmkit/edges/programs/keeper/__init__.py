"""End processes with the operator, even if it is killed.

`program` is a small process that waits for the end of the operator. `marks` starts it, and marks
the processes that it must end.
"""
