"""The operator buckets-operator."""
