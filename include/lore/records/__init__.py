"""What was asked and answered: the database of records, and what writes into it and reads from it."""
