"""From a sizing request to replicas with their reserve, and what follows for settings and for trying it."""
