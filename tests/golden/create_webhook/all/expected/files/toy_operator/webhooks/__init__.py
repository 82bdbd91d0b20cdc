"""The webhooks that the API server calls before it stores an object, one module for each kind."""
