"""One function for each task: it reads through an edge, calls the middle, writes through an edge.

A job returns a value. It never prints, and never ends the process.
"""
