"""The collections of an index and its versions: schema, layout, catalog, creation."""
