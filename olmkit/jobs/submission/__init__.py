"""Submissions to the repositories of catalogs: `check` and `prepare`."""
