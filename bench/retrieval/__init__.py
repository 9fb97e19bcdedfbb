"""Benches of what a search finds."""
