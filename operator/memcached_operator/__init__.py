"""The Memcached operator: keeps a Deployment for each `Memcached`."""
