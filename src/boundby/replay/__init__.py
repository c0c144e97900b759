"""Timeline -> Program -> replay: the step rebuilt, and rebuilt again with one cost removed."""
