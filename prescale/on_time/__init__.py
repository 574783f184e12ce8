"""Being on time: raised by measured lead times, and told where an event's replicas are Ready too late all the same."""
