"""Exceptions as error codes: by class name, by what a service or database reports, by custom readers."""
