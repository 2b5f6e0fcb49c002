"""The kernels that can be built without a tree of one's own: sources that Debian packages."""

from dataclasses import dataclass

ARCHIVE = "http://deb.debian.org/debian"
SECURITY = "http://deb.debian.org/debian-security"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
"""The keys that Debian's archive is signed with; apt refuses what they did not sign."""


@dataclass(frozen=True)
class Release:
    """A kernel of a distribution."""

    version: str
    """Major and minor."""
    package: str
    suites: tuple[str, ...]
    """Archive and suite, as in sources.list."""
    distribution: str


RELEASES = {
    "linux-6.1": Release(
        "6.1",
        "linux-source-6.1",
        (f"{ARCHIVE} bookworm", f"{SECURITY} bookworm-security"),
        "Debian 12 (bookworm)",
    ),
    "linux-6.12": Release(
        "6.12",
        "linux-source-6.12",
        (f"{ARCHIVE} trixie", f"{SECURITY} trixie-security"),
        "Debian 13 (trixie)",
    ),
    "linux-7.3": Release(
        "7.3",
        "linux-source-7.3",
        (f"{ARCHIVE} trixie-backports",),
        "Debian 13 (trixie-backports)",
    ),
}

TC_PACKAGE = "iproute2"
TC_SUITES = (f"{ARCHIVE} forky",)
"""Where tc's source comes from, for all kernels: iproute2 has dualpi2 since 6.17, and the older
suites have older ones."""
