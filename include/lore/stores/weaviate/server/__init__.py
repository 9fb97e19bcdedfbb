"""One connection to a Weaviate server, and its errors in words."""
