"""From one version of a kind to another and back, one module for each version that is not a hub."""
