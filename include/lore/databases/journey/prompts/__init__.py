"""Prompts of the SQL assistant, one Markdown file each."""
