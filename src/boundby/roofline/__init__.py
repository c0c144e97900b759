"""Roofline: least work of operators, kernel families, ceilings, and where a kernel stands."""
