"""How a floor comes about: the load of an event, in the unit it was said in."""
