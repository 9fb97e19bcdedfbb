"""The cost of an index as it grows, and of a question to a large one."""
