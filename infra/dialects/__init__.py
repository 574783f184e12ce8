"""Engines behind one table: what differs between them is a `Dialect`, one file per engine."""
