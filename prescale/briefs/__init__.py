"""What the runs of a stack go by: made from its files, and kept on this machine from one run to the next."""
