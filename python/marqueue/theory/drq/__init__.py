"""The models of the DRQ paper: fluid model, stability, marking (docs/theory/drq.md)."""
