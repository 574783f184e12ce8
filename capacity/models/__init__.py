"""What a model takes of its GPUs: its `config.json`, its weights, and the sequences that fit beside them."""
