"""The server store: Weaviate. `store` has the `Store`, `versions` the `Versions`."""
