"""What was reported, what a reported number can be, and what a match is worth."""
