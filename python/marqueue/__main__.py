"""``python -m marqueue``."""

from marqueue.cli import main

main()
