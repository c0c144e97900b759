"""Reports as one self-contained HTML page: panels of figures, tables and words, verdict first."""
