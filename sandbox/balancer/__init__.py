"""The stand-in for the cloud's balancer: a real Envoy on loopback, told its endpoints as an ingress would be.

Endpoints are the Pods that a Service selects, that are Ready and not being deleted: the rule of EndpointSlices, which
cannot be used here because they refuse loopback addresses. What it does not check: TLS, health checks of its own,
zones, retries (there are none, so every failure is seen), cross-node latency.
"""
