"""Rules for results in a documented protocol: one file for each."""
