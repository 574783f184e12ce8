"""`warmline bench`: its commands, what answers them, and how that is told and drawn."""
