"""Recording -> Timeline: steps, launches joined to device work, gaps, and the queue."""
