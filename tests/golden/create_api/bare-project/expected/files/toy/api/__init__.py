"""The API of this operator, one package for each version."""
