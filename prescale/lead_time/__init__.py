"""How long a replica takes from pod created to Ready: as the cluster's own starts say, else as platform.yaml does."""
