"""Recording -> Timeline: steps, launches joined to device work, gaps and their owners, the queue."""
