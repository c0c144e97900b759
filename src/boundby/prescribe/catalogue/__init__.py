"""prescribe/catalogue."""
