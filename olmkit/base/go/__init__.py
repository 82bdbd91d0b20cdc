"""What Go's library does and Python's does not.

Number formats, durations, regular expressions, sorting.

Go source code is read in `apis.go`.
"""
