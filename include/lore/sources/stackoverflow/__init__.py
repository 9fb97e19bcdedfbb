"""Stack Overflow and its sister sites, through their API (`source`) or from a data dump (`dump`)."""
