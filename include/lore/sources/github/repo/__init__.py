"""Files and code of a repository, read from one archive."""
