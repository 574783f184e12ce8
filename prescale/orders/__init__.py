"""What nobody planned: floors and holds ordered by a person, and the certain word that an event is off."""
