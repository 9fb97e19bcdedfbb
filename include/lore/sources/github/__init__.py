"""GitHub: files of a repository (`repo`), issues and pull requests (`issues`), discussions (`discussions`)."""
