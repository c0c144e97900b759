"""What boundby says against what was measured: ``python -m tools.accuracy`` (``make accuracy``).

truth -> measure -> questions and tables -> docs/accuracy.md
"""
