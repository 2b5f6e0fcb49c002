"""The model of CHOKeW: who gets what share (docs/theory/chokew.md)."""
