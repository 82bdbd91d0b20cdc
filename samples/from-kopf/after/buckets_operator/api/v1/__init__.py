"""Version v1 of the group storage.example.com."""

# +groupName=storage.example.com
