"""Models that generate: one file decoded on this machine, in batches whose make-up never changes a reply."""
