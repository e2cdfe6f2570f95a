"""Running a suite: the only room that strings the others together."""
