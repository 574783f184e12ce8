"""`warmline size`: its commands, the report they make, and one module for each part of it that is told."""
