"""Live observation of an unchanged script. It hands over a folder on disk, never an object.

Two halves that share nothing but that folder: what runs inside the user's process (``attach``,
``observer``, ``passes``), and what reads the folder afterwards (``findings``), without torch.
"""
