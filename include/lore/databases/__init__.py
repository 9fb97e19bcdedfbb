"""The SQL assistant: a question to a database becomes a checked, approved and read-only statement."""
