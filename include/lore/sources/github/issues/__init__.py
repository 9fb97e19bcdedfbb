"""Issues, pull requests and discussions of a repository."""
