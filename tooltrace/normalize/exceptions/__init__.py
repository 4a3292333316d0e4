"""Error codes of exceptions: by class name, by a service's or database's report, by custom readers."""
