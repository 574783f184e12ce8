"""BUILD it: the Pulumi components of a platform, and the program `pulumi up` runs."""
