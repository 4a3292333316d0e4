"""Deliver records to destinations reliably: the journals are the queue, a cursor marks the progress."""
