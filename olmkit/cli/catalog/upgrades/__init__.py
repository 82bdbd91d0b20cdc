"""Commands about installs and upgrade paths from a catalog."""
