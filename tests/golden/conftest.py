"""Projects in golden cases have tests of their own, which are no tests of ours."""

collect_ignore_glob = ["*/*/input/*", "*/*/expected/*"]
