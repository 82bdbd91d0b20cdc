"""Version v1alpha1 of the group backup.example.com."""

# +groupName=backup.example.com
