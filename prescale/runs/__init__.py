"""What a run leaves for those who were not there: a log line, metrics, and a word to a webhook when news come up."""
