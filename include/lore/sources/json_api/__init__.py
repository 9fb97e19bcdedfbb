"""Any list that an API serves as JSON."""
