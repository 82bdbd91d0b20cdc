"""The pages of one package of a catalog: what they show, as values, and their files."""
