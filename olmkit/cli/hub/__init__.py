"""Commands of the hub."""
