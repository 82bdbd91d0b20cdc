"""Requirements of catalog pipelines for a repository of operators and for a pull request.

Their requirements for a bundle are in `rules.publishing`; repositories as values are in
`submission`.
"""
