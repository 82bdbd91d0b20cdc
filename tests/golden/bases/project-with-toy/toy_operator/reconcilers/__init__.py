"""The reconcilers of the operator, one module for each kind."""
