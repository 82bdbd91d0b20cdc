"""What the operator does, one module for each kind."""
