"""The hub: pages that show what a catalog contains; what is shown, as values, and how it looks.

Files are written and served by edges.
"""
