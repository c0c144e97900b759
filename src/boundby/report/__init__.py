"""Reports: a Diagnosis as terminal text, JSON or Markdown. Formats values and computes none."""
