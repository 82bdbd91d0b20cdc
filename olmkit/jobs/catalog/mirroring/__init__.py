"""Parts of a catalog, the images they need, and copies of both."""
