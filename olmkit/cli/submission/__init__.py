"""The commands of `olmkit submit`."""
