"""Schemas of Kubernetes and KEDA, vendored so that a preview needs no network, and the check against them."""
