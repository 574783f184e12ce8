"""`warmline prescale`: its commands, and how what they found is told."""
