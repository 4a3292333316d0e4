"""Reasoners: one module for each query that concludes more than the intervals of shares from what it gathers."""
