"""The server store: Weaviate. `store` is the `Store`, `versions` the `Versions`, `schema` what lies where."""
