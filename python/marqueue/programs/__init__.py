"""One's own AQMs and congestion controls as classes in Python: what such a class consists of, and
the files that hold them.

A scenario names the class of a file beside it: ``aqm = "python:mine.py:Mine"``
(docs/howto/python-programs.md).
"""
