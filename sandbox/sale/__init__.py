"""The sale: the worked example played on the real control plane, on one time scale, and what came of it."""
