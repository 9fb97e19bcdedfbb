"""Sources: a package or file for each kind that a declaration can name."""
