"""From settings to generations, outcomes and scores; knows nothing of screens or of the literature."""
