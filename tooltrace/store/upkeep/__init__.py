"""Commands that change a whole store: forget, redact, prune, back up, restore, merge, repair."""
