"""What the pipelines of catalogs require of a repository of operators and of a pull request.

What they require of a bundle is in `rules.publishing`; repositories as values are in `submission`.
"""
