"""The embedded store: LanceDB in a local folder. `store` has the `Store`, `versions` the `Versions`."""
