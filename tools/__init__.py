"""Scripts for those who develop boundby; not part of the package."""
