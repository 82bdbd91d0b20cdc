"""Other programs that olmkit runs, and how a process is run and stopped.

Container engines are in `edges.build`.
"""
