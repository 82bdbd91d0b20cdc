"""Conversions between versions of a kind, one module for each version that is not the hub."""
