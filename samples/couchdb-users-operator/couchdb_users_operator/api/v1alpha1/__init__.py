"""Version v1alpha1 of the group couchdb.example.com."""

# +groupName=couchdb.example.com
