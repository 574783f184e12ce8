"""The doors: one click module per command group, each calling one function."""
