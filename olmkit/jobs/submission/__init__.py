"""Submissions to the repositories of catalogs: `check` and `prepare`.

The rules are in `rules.submissions`; what a repository contains is in `submission`.
"""
