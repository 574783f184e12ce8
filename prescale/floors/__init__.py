"""How a floor comes about: from the load, in the unit it was said in, and in steps where it has a ramp."""
