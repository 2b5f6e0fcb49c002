"""Traces of a result in formats that other tools read: qlog for each TCP flow, Perfetto for all.

The tables that they are made from are described in ``docs/traces.md``; pcapng is in
:mod:`marqueue.results.pcapng`.
"""
