"""Reading: leases on a consistent state of the database and of the lines that are not in it yet."""
