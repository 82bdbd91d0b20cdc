"""The operator toy-operator."""
