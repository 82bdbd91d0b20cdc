"""The projects in golden cases contain tests, which are not tests of olmkit."""

collect_ignore_glob = ["bases/*", "*/*/input/*", "*/*/expected/*"]
