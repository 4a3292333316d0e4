"""What is made of a record besides its row: the log line and the metric."""
