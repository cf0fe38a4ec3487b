"""What has already been computed, and where things lie on disk."""
