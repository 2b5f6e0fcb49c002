"""Points of a sweep as jobs of a cluster: Slurm or Ray."""
