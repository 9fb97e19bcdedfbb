"""Stack Overflow and its sister sites, by their API or from a dump: `source` is the `Source`."""
