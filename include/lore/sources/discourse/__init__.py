"""A Discourse forum."""
