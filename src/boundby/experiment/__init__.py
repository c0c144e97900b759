"""One change at a time, each in a process of its own, correctness before speed. See ``tune.py``."""
