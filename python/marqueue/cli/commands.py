"""All commands, with the modules that they are imported from on demand."""

from marqueue.cli.lazy import Entry

START = "Start here"
LOOK_UP = "Look up"
MODELS = "Papers and models"
REAL = "Real traffic"

COMMANDS = {
    "init": Entry("marqueue.cli.example", "init", settings={}, panel=START),
    "run": Entry("marqueue.cli.run", "run", panel=START),
    "sweep": Entry("marqueue.cli.sweep", "sweep", panel=START),
    "lab": Entry("marqueue.cli.lab", "lab", settings={}, panel=START),
    "new": Entry(
        "marqueue.cli.new",
        "new",
        help="A working start of one's own AQM or congestion control.",
    ),
    "check": Entry("marqueue.cli.check", "check"),
    "compare": Entry("marqueue.cli.compare", "compare"),
    "plot": Entry("marqueue.cli.plot", "plot"),
    "trace": Entry("marqueue.cli.trace", "trace"),
    "example": Entry("marqueue.cli.example", "example", help="Example scenarios.", panel=LOOK_UP),
    "help": Entry("marqueue.cli.help", "help_", settings={}, panel=LOOK_UP),
    "aqm": Entry(
        "marqueue.cli.catalogue", "aqm", help="The AQMs and their parameters.", panel=LOOK_UP
    ),
    "tcp": Entry(
        "marqueue.cli.catalogue", "tcp", help="The parameters and presets of TCP.", panel=LOOK_UP
    ),
    "paced": Entry(
        "marqueue.cli.catalogue", "paced", help="The rate laws of paced flows.", panel=LOOK_UP
    ),
    "media": Entry(
        "marqueue.cli.catalogue", "media", help="The controls of media flows.", panel=LOOK_UP
    ),
    "impairments": Entry(
        "marqueue.cli.catalogue",
        "impairments",
        help="Models of loss, jitter and reordering.",
        panel=LOOK_UP,
    ),
    "schema": Entry("marqueue.cli.catalogue", "schema", settings={}, panel=LOOK_UP),
    "paper": Entry("marqueue.cli.paper", "paper", help="Reproductions of papers.", panel=MODELS),
    "theory": Entry(
        "marqueue.cli.theory",
        "theory",
        help="Models of scenarios: fluid, steady state, stability, buffers.",
        panel=MODELS,
    ),
    "design": Entry(
        "marqueue.cli.design",
        "design",
        help="Gains of AQMs, with stability margins.",
        extra="theory",
        panel=MODELS,
    ),
    "recommend": Entry("marqueue.cli.recommend", "recommend", extra="theory", panel=MODELS),
    "attack": Entry("marqueue.cli.attack", "attack", extra="theory", panel=MODELS),
    "validate": Entry(
        "marqueue.cli.validate", "validate", extra="theory", settings={}, panel=MODELS
    ),
    "conformance": Entry(
        "marqueue.cli.conformance",
        "conformance",
        help="TCP held against test suites that others wrote.",
        panel=MODELS,
    ),
    "evaluate": Entry(
        "marqueue.cli.evaluate",
        "evaluate",
        help="Evaluations that standards ask for, of AQMs and of controls.",
        panel=MODELS,
    ),
    "live": Entry("marqueue.cli.live", "live", panel=REAL),
    "link": Entry(
        "marqueue.cli.link",
        "link",
        settings={"context_settings": {"allow_interspersed_args": False}, "no_args_is_help": True},
        panel=REAL,
    ),
    "kernel": Entry(
        "marqueue.cli.kernels",
        "kernel",
        help="Linux kernels as hosts and routers of the simulator.",
        panel=REAL,
    ),
    "attach": Entry("marqueue.cli.kernel", "attach", panel=REAL),
    "stats": Entry("marqueue.cli.kernel", "stats", panel=REAL),
    "detach": Entry("marqueue.cli.kernel", "detach", panel=REAL),
}
