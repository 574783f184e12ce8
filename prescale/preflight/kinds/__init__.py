"""The Kubernetes objects that preflight reads, as far as it reads them. Fields are the API's own, in snake case."""
