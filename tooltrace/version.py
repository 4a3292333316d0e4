"""The version of the recorder, kept with every record."""

__version__ = "0.1.0"
