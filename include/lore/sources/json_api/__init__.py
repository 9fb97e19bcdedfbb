"""Any list that an API gives as JSON: `source` is the `Source`."""
