"""iCalendar files of a stack: read, their zones named, their entries turned into events."""
