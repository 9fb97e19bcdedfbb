"""The records: a database of questions and answers, its writers and readers."""
