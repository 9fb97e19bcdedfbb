"""The web page and the JSON API: one resident ASGI application."""
