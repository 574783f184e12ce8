"""What would keep a floor from becoming Ready replicas, found in the cluster while there is time to mend it."""
