"""`warmline review`: the command, two revisions compared, and how the difference is told."""
