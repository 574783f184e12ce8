"""Looking on until it is warm: what one look shows, and when to stop looking."""
