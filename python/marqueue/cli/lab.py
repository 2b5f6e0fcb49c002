"""``marqueue lab``."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from marqueue.cli.console import output, say
from marqueue.cli.options import RESULTS
from marqueue.errors import RunError

PAGES = Path(__file__).parents[1] / "lab" / "built"
"""The built pages, which a wheel contains."""


def lab(
    directory: Annotated[
        Path | None,
        typer.Argument(
            metavar="DIR",
            help="Also show the results in this directory.",
            show_default="results, if it exists",
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="Port; 0 is any free one.")
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
) -> None:
    """Open the lab: simulations in the browser, and a browser of results.

    The page runs on this machine and sends nothing elsewhere. It listens on 127.0.0.1 only, and its
    address has a token that nobody else knows. Ctrl-C ends it.

    [bold]Examples[/bold]

    marqueue lab

    marqueue lab results --port 8000 --no-browser
    """
    if directory is None and RESULTS.is_dir():
        directory = RESULTS
    if directory is not None and not directory.is_dir():
        raise RunError(f"{directory}: not a directory, expected a directory with results")
    if not (PAGES / "index.html").is_file():
        raise RunError(
            f"{PAGES}: the pages of the lab are not built; install Node.js 20 or later and run "
            "`make lab` in the sources, or install marqueue from a wheel, which contains them"
        )
    # It loads the scenario compiler, which --help does without.
    from marqueue.lab.folder import Folder
    from marqueue.lab.server import Lab, LabServer

    shown = Lab(PAGES, None if directory is None else Folder.of(directory))
    try:
        server = LabServer(shown, port)
    except OSError as error:
        raise RunError(f"--port: got {port}, which cannot be used: {error.strerror}") from None
    with server:
        output.print(f"The lab: {server.url}", highlight=False, soft_wrap=True)
        if directory is not None:
            say(f"Results: {directory}")
        say("Ctrl-C ends it.")
        if browser:
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("The lab has ended.")
