"""The hub: catalogs → pages in a folder, or served."""
