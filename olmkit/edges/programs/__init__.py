"""Other programs that olmkit runs, and how a process is run."""
