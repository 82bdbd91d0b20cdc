"""The hub as a whole: all its pages, its files, and how they are built or made on request."""
