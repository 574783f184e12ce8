"""The doors: one module or package per command group, its click commands in `commands`; each calls one function."""
