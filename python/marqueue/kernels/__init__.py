"""Linux kernels as processes (user-mode Linux): what is built, how it is built, whether it works.

A kernel is a folder in the user's cache: the executable ``linux``, the program ``guest-init`` that
runs in it, ``tc``, and ``kernel.json``, which says what they were made of.
"""

from marqueue.kernels.cache import Kernel, built, find, find_host

__all__ = ["Kernel", "built", "find", "find_host"]
