"""The report: the reference study's seven-point checklist, each item filled from evidence or openly unknown."""
