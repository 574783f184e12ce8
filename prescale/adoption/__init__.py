"""Targets that others made: taken by a word of a person, and let go by one."""
