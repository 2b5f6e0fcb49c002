"""``marqueue kernel``: Linux kernels as hosts and routers of the simulator."""

from pathlib import Path
from typing import Annotated, Any

import typer

from marqueue.cli import options
from marqueue.cli.console import output, print_json, print_table, progress_bar, say, table
from marqueue.errors import MarqueueError
from marqueue.kernels.cache import Kernel, built, find
from marqueue.kernels.recipe import TICKS, Recipe
from marqueue.kernels.releases import RELEASES

kernel = typer.Typer(no_args_is_help=True)

Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="A kernel of: marqueue kernel list.", show_default=False),
]


@kernel.command("list")
def kernel_list(json: options.Json = False) -> None:
    """List the kernels that are built, and those that can be.

    Example: marqueue kernel list
    """
    there = built()
    others = [name for name in RELEASES if name not in {each.name for each in there}]
    if json:
        print_json(
            [_summary(each) for each in there] + [{"name": name, "built": False} for name in others]
        )
        return
    rows = table("kernel", "version", "source", "")
    for each in there:
        rows.add_row(f"[bold]{each.name}[/bold]", each.version, _source(each), _differences(each))
    for name in others:
        rows.add_row(name, RELEASES[name].version, RELEASES[name].distribution, "not built")
    print_table(rows)


@kernel.command("show", no_args_is_help=True)
def kernel_show(name: Name, json: options.Json = False) -> None:
    """Show what a kernel was made of.

    Example: marqueue kernel show linux-7.3
    """
    found = find(name)
    if json:
        print_json({**found.record, "folder": str(found.folder)})
        return
    rows = table(name, "")
    rows.add_row("folder", str(found.folder))
    for key, value in _flat(found.record):
        rows.add_row(key, value)
    print_table(rows)


@kernel.command("build", no_args_is_help=True)
def kernel_build(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help=f"Releases to build: {', '.join(RELEASES)}.",
            show_default=False,
        ),
    ] = None,
    tree: Annotated[
        Path | None,
        typer.Option(
            "--tree",
            metavar="DIR",
            help="Build from the source of a kernel in DIR instead, in which nothing is changed.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="What the kernel is called.",
            show_default="that of the release; with --tree, that of the folder",
        ),
    ] = None,
    patch: Annotated[
        list[Path] | None,
        typer.Option(
            "--patch",
            metavar="FILE",
            help="A change to the source, as of git diff (repeatable). Needs --name.",
            show_default=False,
        ),
    ] = None,
    config: Annotated[
        list[Path] | None,
        typer.Option(
            "--config",
            metavar="FILE",
            help="Lines CONFIG_NAME=VALUE beside those of marqueue (repeatable). Needs --name.",
            show_default=False,
        ),
    ] = None,
    hz: Annotated[
        int,
        typer.Option("--hz", metavar="N", help="Ticks a second. Other than 100 needs --name."),
    ] = 100,
    newest: Annotated[
        bool,
        typer.Option(
            "--newest", help="Build a release again from the newest source that Debian has."
        ),
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            min=1,
            metavar="N",
            help="Number of files that are compiled at a time.",
            show_default="one per processor",
        ),
    ] = None,
) -> None:
    """Build Linux kernels that run as processes (3 to 8 minutes each, 4 GB of disk meanwhile).

    A release is built from Debian's source, one's own tree from a copy of it; the second build of
    a tree compiles only what has changed. Kernels are kept in ~/.cache/marqueue/kernels.

    [bold]Examples[/bold]

    marqueue kernel build linux-7.3

    marqueue kernel build --tree ~/linux --name mine

    marqueue kernel build linux-7.3 --patch beta.diff --name beta
    """
    recipes = _recipes(names or [], tree, name, patch or [], config or [], hz)
    # What builds need is not needed to list kernels.
    from marqueue.kernels.building import Told, build, processors

    for recipe in recipes:
        with progress_bar(recipe.name) as progress:
            found, was_built = build(recipe, jobs or processors(), newest, Told(say, progress))
        done = f"built in {found.record['seconds']} s" if was_built else "is current"
        say(f"{found.name}: Linux {found.version} {done}, in {found.folder}.")


@kernel.command("verify", no_args_is_help=True)
def kernel_verify(name: Name, json: options.Json = False) -> None:
    """Boot a kernel and say which congestion controls and qdiscs it has.

    Example: marqueue kernel verify linux-7.3
    """
    found = find(name)
    from marqueue.kernels.verification import verify

    seen = verify(found)
    if json:
        print_json(
            {
                "name": name,
                "version": seen.version,
                "seconds": round(seen.seconds, 3),
                "congestion_controls": seen.congestion_controls,
                "qdiscs": seen.qdiscs,
            }
        )
        return
    rows = table(name, "")
    rows.add_row("version", seen.version)
    rows.add_row("boots and ends in", f"{seen.seconds:.2f} s")
    rows.add_row("congestion controls", ", ".join(seen.congestion_controls))
    rows.add_row("qdiscs", ", ".join(seen.qdiscs) or "not tried: it was built without tc")
    output.print(rows)


def _recipes(
    names: list[str],
    tree: Path | None,
    name: str | None,
    patches: list[Path],
    configs: list[Path],
    hz: int,
) -> list[Recipe]:
    """What is to be built. Raises MarqueueError if the options do not fit together."""
    if hz not in TICKS:
        raise MarqueueError(f"--hz: got {hz}, expected one of {', '.join(map(str, TICKS))}")
    if bool(names) == (tree is not None):
        raise MarqueueError(
            f"expected the name of a release ({', '.join(RELEASES)}), or --tree DIR"
        )
    for each in names:
        if each not in RELEASES:
            raise MarqueueError(
                f"kernel {each}: expected one of {', '.join(RELEASES)}; one's own source is built "
                "with: marqueue kernel build --tree DIR --name NAME"
            )
    changed = bool(patches or configs or hz != 100)
    if names and changed and (name is None or name in RELEASES):
        raise MarqueueError(
            "--name: expected with --patch, --config or --hz a name of its own for what is not the "
            "release"
        )
    if name in RELEASES and names != [name]:
        raise MarqueueError(f"--name: got {name}, which is the name of a release")
    if name is not None and len(names) > 1:
        raise MarqueueError(f"--name: got {name} for {len(names)} kernels, expected one")
    told: dict[str, Any] = {
        "patches": tuple(each.resolve() for each in patches),
        "configs": tuple(each.resolve() for each in configs),
        "tick": hz,
    }
    if tree is not None:
        folder = tree.resolve()
        return [Recipe(name or folder.name, tree=folder, **told)]
    return [Recipe(name or each, release=each, **told) for each in names]


def _summary(kernel: Kernel) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "built": True,
        "version": kernel.version,
        "checksum": kernel.checksum,
        "source": kernel.record.get("source"),
        "folder": str(kernel.folder),
    }


def _source(kernel: Kernel) -> str:
    source = kernel.record.get("source") or {}
    return str(source.get("package") or source.get("tree") or "")


def _differences(kernel: Kernel) -> str:
    record = kernel.record
    hz = (record.get("ingredients") or {}).get("hz", 100)
    patches = [Path(each).name for each in record.get("patches", [])]
    configs = [Path(each).name for each in record.get("configs", [])]
    ticks = [] if hz == 100 else [f"HZ {hz}"]
    return ", ".join([*patches, *configs, *ticks])


def _flat(record: dict[str, Any], within: str = "") -> list[tuple[str, str]]:
    """Keys and values for a table; those of inner tables with a dot."""
    rows = []
    for key, value in record.items():
        if isinstance(value, dict):
            rows += _flat(value, f"{within}{key}.")
        elif isinstance(value, list):
            rows.append((within + key, ", ".join(map(str, value))))
        elif value is not None:
            rows.append((within + key, str(value)))
    return rows
