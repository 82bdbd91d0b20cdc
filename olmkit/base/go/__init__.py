"""What Go's library does and Python's does not: number formats, regular expressions, sorting.

Go source code is read in `apis.go`.
"""
