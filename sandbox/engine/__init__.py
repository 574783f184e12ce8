"""The engine double: answers as vLLM does, on a model of time instead of a GPU.

Honest limits: no weights are read, no token means anything, the prompt length is guessed from its characters, and the
key-value cache never runs out (no preemption). What it does check is what a manifest can get wrong: flags, port, host,
tensor parallelism against the GPUs of the container, drain, queue bound, model name.
"""
