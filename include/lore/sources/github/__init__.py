"""GitHub: the files of a repository (`repo`), and its issues, pull requests and discussions (`issues`)."""
