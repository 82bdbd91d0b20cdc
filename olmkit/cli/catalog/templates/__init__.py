"""Commands about catalog templates."""
