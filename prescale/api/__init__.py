"""The cluster's API over HTTP: which one, as whom, few calls, and what is relied upon of its answers."""
