"""The embedded store: LanceDB in a local folder. `store` is the `Store`, `versions` the `Versions`."""
