"""The model of CHOKeW: the share of the link that each flow gets (docs/theory/chokew.md)."""
