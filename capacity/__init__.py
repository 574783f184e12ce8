"""HOW MUCH: pure arithmetic. No Pulumi, no network, no clock, no files."""
