"""Hybrid search: what is asked of the server, and the passages that it finds."""
