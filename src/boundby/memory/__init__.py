"""Where the memory of a device goes: what holds it, what grows, what is wasted, what to do.

Start at ``diagnose.py``. Sizes are bytes; a moment is the index of an event in the history.
"""
