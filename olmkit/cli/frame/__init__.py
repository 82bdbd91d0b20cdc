"""What every command uses: options in groups, terminal, output forms, exit codes.

No command is here, and nothing that only one group of commands needs.
"""
