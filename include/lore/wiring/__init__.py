"""The only place that chooses implementations: settings and declarations in, working parts out.

A module for each thing to make. Implementations are imported inside the function that needs them, so that a command
loads only what it uses.
"""
