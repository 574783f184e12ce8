"""What Prometheus recorded of a service, and a plan held against it."""
