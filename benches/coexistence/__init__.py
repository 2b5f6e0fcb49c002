"""Senders of several kinds beside each other at one queue: docs/coexistence.md."""
