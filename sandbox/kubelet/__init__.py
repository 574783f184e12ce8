"""The kubelet double: lives the life of every Pod on a fake node, as that Pod's own manifest tells it.

It obeys: image references and pull policy, init containers in order, command, args, ports, all three probes with their
times and thresholds, preStop, termination grace period, restart policy, deletion. An engine container becomes an engine
double on the pod's own loopback address; every other container is only said to run.

Honest limits. Not looked at: volumes (except whether weights outlive the pod), resources (except GPUs), security
contexts, Secrets and ConfigMaps, service links, eviction, images that do not exist. Exec probes are refused, since
there is nothing to exec in; a preStop exec is honoured only if it is a sleep. How long a pull and a load take is a
setting.
"""
