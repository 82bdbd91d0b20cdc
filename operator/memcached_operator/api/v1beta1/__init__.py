"""Version v1beta1 of the group cache.example.com."""

# +groupName=cache.example.com
