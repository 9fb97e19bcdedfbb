"""HTTP for all sources: clients, retries, addresses and bounded decompression."""
