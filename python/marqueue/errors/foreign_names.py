"""Names that other tools (ns-2, ns-3, tc) and everyday language use, for suggestions in errors.

Names are compared by letters and digits only: "MinTh", "min-th" and "min_th" are the same name. A
name that differs from marqueue's only in case or punctuation needs no entry.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

NAMES: dict[str, tuple[str, ...]] = {
    # Parameters of AQMs. The suggestion is the first of these that the AQM has.
    "target": ("delay_ref", "target", "q_ref", "theta", "gamma"),
    "qdelayref": ("delay_ref", "target"),
    "queuedelayreference": ("delay_ref", "target"),
    "delayref": ("target", "q_ref"),
    "interval": ("t_update", "period", "freeze_time", "delta"),
    "updateinterval": ("t_update", "period"),
    "tupdate": ("t_update", "period"),
    "pupdtime": ("period",),
    "remupdtime": ("period",),
    "holdtime": ("freeze_time",),
    "sampling": ("w",),
    "samplingfrequency": ("w",),
    "maxburstallowance": ("max_burst",),
    "burstallowance": ("max_burst",),
    "burst": ("max_burst",),
    "markecnthreshold": ("mark_ecnth",),
    "maxecnth": ("mark_ecnth",),
    "usedequeuerateestimator": ("delay_estimate",),
    "dqrateestimator": ("delay_estimate",),
    "usederandomization": ("derandomization",),
    "usecapdropadjustment": ("cap_adjustment",),
    "activethreshold": ("activation",),
    "thresh": ("min_th", "out_min_th", "l_th"),
    "minthresh": ("min_th", "out_min_th"),
    "minth": ("out_min_th",),
    "min": ("min_th", "out_min_th"),
    "maxthresh": ("max_th", "out_max_th"),
    "maxth": ("out_max_th",),
    "max": ("max_th", "out_max_th"),
    "maxp": ("out_max_p",),
    "pmax": ("max_p", "out_max_p"),
    "probability": ("max_p", "out_max_p"),
    "linterm": ("max_p", "out_max_p"),
    "qw": ("w_q",),
    "qweight": ("w_q",),
    "queueweight": ("w_q",),
    "markp": ("mark_p",),
    "utilization": ("gamma", "theta"),
    "ecnlim": ("initial",),
    "increment": ("d1",),
    "decrement": ("d2",),
    "divisor": ("queues",),
    "flows": ("queues", "count"),
    "bytemode": ("mode",),
    "queueinbytes": ("mode",),
    "remphi": ("phi",),
    "remgamma": ("gamma",),
    "remalpha": ("alpha",),
    "pbo": ("q_ref",),
    "rempbo": ("q_ref",),
    # Keys of links.
    "limit": ("buffer",),
    "maxsize": ("buffer",),
    "queuesize": ("buffer",),
    "queuelimit": ("buffer",),
    "queuelength": ("buffer",),
    "qlen": ("buffer",),
    "ecn": ("signal",),
    "useecn": ("signal", "ecn"),
    "setbit": ("signal",),
    "harddrop": ("signal",),
    "usehardrop": ("signal",),
    "avpkt": ("packet",),
    "meanpktsize": ("packet",),
    "packetsize": ("packet", "segment"),
    "pktsize": ("packet", "segment"),
    "mtu": ("packet", "segment"),
    "bandwidth": ("rate",),
    "linkbandwidth": ("rate",),
    "bitrate": ("rate",),
    "datarate": ("rate",),
    "capacity": ("rate",),
    "speed": ("rate",),
    "linkdelay": ("delay",),
    "latency": ("delay",),
    "propagation": ("delay",),
    "qdisc": ("aqm",),
    "queuedisc": ("aqm",),
    "discipline": ("aqm",),
    # Traffic and the scenario as a whole.
    "number": ("count",),
    "begin": ("start",),
    "starttime": ("start",),
    "end": ("stop",),
    "stoptime": ("stop", "duration"),
    "maxbytes": ("size",),
    "flowsize": ("size",),
    "filesize": ("size",),
    "tos": ("dscp",),
    "runs": ("replications",),
    "simtime": ("duration",),
    "runtime": ("duration",),
    # TCP.
    "mss": ("segment",),
    "segmentsize": ("segment",),
    "cc": ("control",),
    "congestion": ("control",),
    "congestioncontrol": ("control",),
    "initcwnd": ("initial_window",),
    "initialcwnd": ("initial_window",),
    "iw": ("initial_window",),
    "windowinit": ("initial_window",),
    "maxcwnd": ("max_window",),
    "window": ("max_window",),
    "rtomin": ("min_rto",),
    "minrto": ("min_rto",),
    "newreno": ("reno",),
    # AQMs and schedulers.
    "fifo": ("droptail",),
    "pfifo": ("droptail",),
    "bfifo": ("droptail",),
    "pfifofast": ("droptail",),
    "taildrop": ("droptail",),
    "gk": ("gkvq",),
    "vq": ("avq",),
    "adaptivered": ("ared",),
    "dualq": ("dualpi2",),
    "dualqcoupled": ("dualpi2",),
    "docsispie": ("docsis_pie",),
    "docsisdualqueue": ("docsis_dualq",),
    "lowlatencydocsis": ("docsis_dualq",),
    "queueprotection": ("docsis_dualq",),
    "curvyred": ("curvy_red",),
    "couplingfactor": ("k",),
    "stepthresh": ("min_th", "step_packets", "delay"),
    "cprotection": ("c_protection",),
    "dropoverload": ("overload",),
    "ecnmask": ("l4s",),
    "rttmax": ("rtt_max",),
}

RELATIVES: dict[str, str] = {
    "fq": "fq_codel",
    "gred": "rio",
    "wred": "rio",
    "sred": "red",
    "ecnred": "red",
    "bbr": "cubic",
    "bic": "cubic",
    "htcp": "cubic",
    "vegas": "reno",
    "westwood": "reno",
}
"""Algorithms that marqueue does not have, each with the most similar one that it has."""

UNITS: dict[str, str] = {
    # Rates. In tc, mbps are megabytes per second, but most users mean megabits.
    "bps": "bit/s",
    "b/s": "bit/s",
    "kbps": "kbit/s",
    "kb/s": "kbit/s",
    "mbps": "Mbit/s",
    "mb/s": "Mbit/s",
    "gbps": "Gbit/s",
    "gb/s": "Gbit/s",
    "tbps": "Tbit/s",
    "tb/s": "Tbit/s",
    "bit": "bit/s",
    "kbit": "kbit/s",
    "mbit": "Mbit/s",
    "gbit": "Gbit/s",
    "tbit": "Tbit/s",
    "bits/s": "bit/s",
    "kbits/s": "kbit/s",
    "mbits/s": "Mbit/s",
    "gbits/s": "Gbit/s",
    "tbits/s": "Tbit/s",
    # Times.
    "µs": "us",
    "μs": "us",
    "usec": "us",
    "msec": "ms",
    "sec": "s",
    "secs": "s",
    "second": "s",
    "seconds": "s",
    "m": "min",
    "mins": "min",
    "minute": "min",
    "minutes": "min",
    "hour": "h",
    "hours": "h",
    # Sizes.
    "byte": "B",
    "bytes": "B",
    "k": "kB",
    # Packets, and numbers per second.
    "p": "packets",
    "pkt": "packets",
    "pkts": "packets",
    "pps": "/s",
    "packets/s": "/s",
    "flows/s": "/s",
    "/sec": "/s",
}
"""Spellings of units in other tools, in lower case, and marqueue's."""


def letters_and_digits(name: str) -> str:
    """The letters and digits of a name, in lower case."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def known_name(name: str, known: Iterable[str]) -> str | None:
    """The known name of what other tools call ``name``; None if there is none."""
    here = list(known)
    word = letters_and_digits(name)
    alike = (each for each in here if word and letters_and_digits(each) == word)
    called = (each for each in NAMES.get(word, ()) if each in here)
    return next(alike, None) or next(called, None)


def nearest_relative(name: str, known: Collection[str]) -> str | None:
    """The known algorithm that is most similar to one that marqueue lacks."""
    nearest = RELATIVES.get(letters_and_digits(name))
    return nearest if nearest is not None and nearest in known else None


def known_unit(written: str, known: Iterable[str]) -> str | None:
    """The known unit that an unknown one probably stands for."""
    word = written.strip().lower()
    here = list(known)
    alike = [each for each in here if each.lower() == word]
    called = UNITS.get(word)
    return alike[0] if len(alike) == 1 else called if called in here else None
