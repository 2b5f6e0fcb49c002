"""What cannot be attached, and what is said of it."""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from live_requirements import not_installed
from marqueue.errors import MarqueueError
from marqueue.live import kernel
from veth_pair import BPF, needs_kernel


def kernel_config() -> str:
    """The configuration of the running kernel; empty where it is not told."""
    file = Path("/proc/config.gz")
    return gzip.decompress(file.read_bytes()).decode() if file.exists() else ""


LAW = kernel.Aqm.read("avq", "20 Mbit/s", buffer="20 packets")


@needs_kernel
@pytest.mark.parametrize(
    ("device", "netns", "place"),
    [
        ("nodevice", None, "nodevice"),
        ("lo", "nowhere", "/run/netns/nowhere"),
        ("lo", "/etc/passwd", "passwd"),
    ],
)
def test_what_is_not_there_is_named(device: str, netns: str | None, place: str):
    for refused in (lambda: kernel.attach(device, LAW, netns), lambda: kernel.stats(device, netns)):
        with pytest.raises(MarqueueError, match=place):
            refused()


@pytest.mark.parametrize(
    ("aqm", "given", "place"),
    [
        ("avq", {"rate": "20"}, "rate"),
        ("avq", {"rate": "0 Mbit/s"}, "rate"),
        ("avq", {"buffer": "3 s"}, "buffer"),
        ("avq", {"buffer": "1 kB"}, "buffer"),
        ("avq", {"signal": "loud"}, "signal"),
        ({"name": "avq", "gamma": 1.5}, {}, "gamma"),
        ({"name": "avq", "alpha": "0.15"}, {}, "alpha"),
        ({"name": "avq", "alpha": "1e6 /s"}, {}, "alpha"),
        ({"name": "avq", "adapt_every": "3 packets"}, {}, "adapt_every"),
        ("red", {"buffer": "30 kB"}, "buffer"),
        ({"name": "red", "mode": "packets"}, {}, "mode"),
        ({"name": "red", "min_th": "20 packets", "max_th": "10 packets"}, {}, "max_th"),
        ({"name": "red", "max_th": "3000000 packets"}, {}, "max_th"),
        ({"name": "pi", "a": 1e-5, "b": 1e-5}, {}, "b"),
        ("codel", {}, "aqm"),
        ({"name": "chokew", "mode": "bytes"}, {}, "mode"),
        ({"name": "chokew", "l_th": "130 packets"}, {}, "l_minus"),
        ("chokew", {"buffer": "5000 packets"}, "buffer"),
    ],
)
def test_a_mistake_is_answered_with_its_place(aqm: Any, given: dict[str, Any], place: str):
    with pytest.raises(MarqueueError, match=f"^{place}: got .*expected"):
        kernel.Aqm.read(aqm, **{"rate": "1 Gbit/s", **given})


@pytest.mark.parametrize("aqm", ["avq", "red", "mkc", "drq", "chokew"])
def test_a_rate_that_is_needed_is_asked_for(aqm: str):
    with pytest.raises(MarqueueError, match=r"^rate: missing, expected"):
        kernel.Aqm.read(aqm)


def test_where_none_is_needed_a_rate_may_be_missing_or_given():
    for rate in (None, "20 Mbit/s"):
        assert kernel.Aqm.read("drq", rate, hook="ingress").name == "drq"
        assert kernel.Aqm.read("pi", rate).name == "pi"


@pytest.mark.parametrize("aqm", ["codel", "choke"])
def test_other_aqms_are_refused_with_those_that_there_are(aqm: str):
    expected = f'^aqm: got "{aqm}", expected one of {", ".join(kernel.names())}, for which'
    with pytest.raises(MarqueueError, match=expected):
        kernel.Aqm.read(aqm, "20 Mbit/s")


@pytest.mark.parametrize(
    ("aqm", "weight", "said"),
    [
        ("chokew", "/nowhere/at/all=4", "cgroup-weight: got .*expected"),
        ("chokew", "/=zero", '--cgroup-weight: got "/=zero", expected CGROUP=WEIGHT'),
        ("chokew", "4", '--cgroup-weight: got "4", expected CGROUP=WEIGHT'),
        ("red", "/=4", "cgroup-weight: got one, expected none: red has no weights by cgroup"),
    ],
)
def test_a_cgroup_without_a_place_or_a_weight_is_named(marqueue, aqm: str, weight: str, said: str):
    at = ("attach", "lo", "--rate", "20 Mbit/s")
    done = marqueue(*at, "--aqm", aqm, "--cgroup-weight", weight)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.match(said, done.stderr)
    assert len(done.stderr.splitlines()) == 1


def test_a_cgroup_has_one_weight(marqueue):
    twice = ("--cgroup-weight", "/a=4", "--cgroup-weight", "/a=5")
    done = marqueue("attach", "lo", "--aqm", "chokew", "--rate", "20 Mbit/s", *twice)
    assert done.returncode == 2
    assert done.stderr.startswith('--cgroup-weight: got "/a" twice, expected one weight')


def test_a_mistake_ends_the_command(marqueue):
    done = marqueue("attach", "lo", "--aqm", "codel", "--rate", "20 Mbit/s")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith('aqm: got "codel"')


@pytest.mark.skipif(kernel.missing() is None, reason="programs can be loaded here")
def test_what_is_missing_is_said():
    for refused in (lambda: kernel.attach("lo", LAW), lambda: kernel.detach("lo")):
        with pytest.raises(MarqueueError) as error:
            refused()
        assert kernel.missing() in str(error.value)


@needs_kernel
@pytest.mark.skipif("CONFIG_NET_SCH_BPF=y" in kernel_config(), reason="this kernel has them")
def test_a_kernel_without_qdiscs_in_bpf_is_named_and_nothing_stays():
    aqm = kernel.Aqm.read("chokew", "20 Mbit/s")
    with pytest.raises(MarqueueError, match="CONFIG_NET_SCH_BPF"):
        kernel.attach("lo", aqm)
    assert not kernel.detach("lo")


def alone(prepare: str) -> subprocess.CompletedProcess[str]:
    """Attaches, asks and detaches at a device in namespaces of its own, where process 1 cannot be
    looked at and the file system of BPF is not mounted."""
    steps = (
        "ip link add v0 type veth peer name v1",
        "mount -t tmpfs none /proc/1",
        f"if mountpoint -q {BPF}; then umount {BPF}; fi",
        prepare,
        f"{sys.executable} -m marqueue attach v0 --rate 20Mbit/s",
        f"{sys.executable} -m marqueue stats v0 --json",
        f"{sys.executable} -m marqueue detach v0",
    )
    return subprocess.run(
        ["unshare", "--net", "--mount", "--propagation", "private", "sh", "-ec", "\n".join(steps)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@needs_kernel
@pytest.mark.skipif(not_installed("unshare") is not None, reason="no unshare here")
def test_where_process_1_is_hidden_bpffs_is_mounted_or_it_is_said_what_could_not_be_read():
    done = alone("true")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["signal"] == "ecn"
    refused = alone("mount -t tmpfs none /sys/fs")
    assert refused.returncode == 2
    assert f"{BPF}: the file system of BPF cannot be mounted" in refused.stderr
    assert "/proc/1/ns/mnt: cannot be read" in refused.stderr
