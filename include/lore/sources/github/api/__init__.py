"""GitHub's API: calls, replies, and authorization as a GitHub App."""
