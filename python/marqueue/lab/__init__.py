"""The lab in a browser: a server of its pages on this machine, and a browser of results.

The pages (``web/src/lab``) are static files and run simulations in the browser. They work without
this server, which adds the results of a folder: list, reports, comparison, and new runs.

:mod:`~marqueue.lab.server` answers requests, :mod:`~marqueue.lab.folder` finds files in the folder,
:mod:`~marqueue.lab.listing` describes results, :mod:`~marqueue.lab.progress` watches runs,
:mod:`~marqueue.lab.rerun` starts them, and :mod:`~marqueue.lab.gallery` writes the scenarios that
the pages begin with.
"""
