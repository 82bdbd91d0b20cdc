"""What a catalog offers to clusters: what OLM would install, upgrade paths, and their checks."""
