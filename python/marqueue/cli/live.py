"""``marqueue live``."""


def live() -> None:
    """Later."""
