"""The operator backups-operator."""
