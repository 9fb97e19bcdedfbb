"""`lore sql`: questions to a database."""
