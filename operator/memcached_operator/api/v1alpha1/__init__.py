"""Version v1alpha1 of the group cache.example.com."""

# +groupName=cache.example.com
