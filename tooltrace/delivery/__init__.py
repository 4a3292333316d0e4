"""Reliable delivery of records to destinations: the journals are the queue, a cursor marks the progress."""
