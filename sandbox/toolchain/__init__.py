"""Get the programs the sandbox runs: found on this machine, else built from Go modules pinned in `modules`."""
