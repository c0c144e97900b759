"""Programs and measurements that need a CUDA device; not part of the package."""
