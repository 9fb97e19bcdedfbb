"""Objects of Weaviate collections: read, written and deleted in bounded batches."""
