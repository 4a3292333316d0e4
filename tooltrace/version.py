"""The version of the recorder, stored with every record."""

__version__ = "0.1.0"
