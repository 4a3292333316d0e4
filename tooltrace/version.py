"""The version of the recorder, stored with every record."""

__version__ = "0.2.0"
"""Version of tooltrace."""
