"""What the pipelines of catalogs require of a repository of operators and of a pull request."""
