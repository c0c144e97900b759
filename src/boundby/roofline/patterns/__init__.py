"""Patterns of device work that cost more than they need: what each moves and what it would save."""
