"""Version v1alpha1 of the group toys.example.com."""

# +groupName=toys.example.com
