"""Functions of Go's standard library that Python's does not have.

Number formats, durations, regular expressions, sorting.

Go source code is read in `apis.go`.
"""
