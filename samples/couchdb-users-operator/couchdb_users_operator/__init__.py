"""The operator couchdb-users-operator."""
