"""A Discourse forum: `source` is the `Source`."""
