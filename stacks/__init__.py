"""WHAT each environment should be: the typed tree an operator may set, and how it is read from YAML."""
