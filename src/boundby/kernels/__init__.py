"""Kernels that Nsight Compute measured: what bounds each, what bounds the file, what to look at."""
