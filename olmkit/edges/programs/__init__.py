"""Programs that olmkit runs, and starting and stopping processes.

Container engines are in `edges.build`.
"""
