"""Rules for HTTP responses and finished processes."""
