"""Runs the user's own Nsight tools around a command, and leaves a file that ``read`` can read."""
