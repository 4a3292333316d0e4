"""Folding: the transfer of journal lines into the database, each exactly once."""
