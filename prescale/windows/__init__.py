"""When events ask how many replicas of which service: the timetable, and where a pool is too small for it."""
