"""What pytest runs of tooltrace once a test uses it; ``pytest_tooltrace`` has the hooks."""
