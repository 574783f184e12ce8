"""HOW MUCH: pure arithmetic. No Pulumi, no network, no clock, no files.

Imports point one way: `models | sweeps <- sizing <- recordings | purchase`, on the modules beside them.
"""
