"""WARM it: decide (pure) and act (Kubernetes) ahead of events."""
