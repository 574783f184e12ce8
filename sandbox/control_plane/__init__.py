"""The control plane as processes of this machine: how each program is started, and how they know one another."""
