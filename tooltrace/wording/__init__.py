"""Texts for people in their language: translations, numbers with units, and sentences made of clauses."""
