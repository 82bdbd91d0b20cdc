"""Submissions to the repositories of catalogs: `check` and `prepare`.

The rules are in `rules.submissions`; the model of a repository is in `submission`.
"""
