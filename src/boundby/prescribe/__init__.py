"""prescribe."""
