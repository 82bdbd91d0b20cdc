"""What the API server asks before it stores an object, one module for each kind."""
