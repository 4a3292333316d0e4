"""The documentation, and the program that generates parts of it."""
