"""Small widgets that paint lines from state and hold none of it."""
