"""Runs in the machine, which has two processors: links with --realtime strict, and what there is of
control groups before, during and after. Its argument is the scenario of a live run."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from marqueue.live.isolation import isolated_processor
from marqueue.live.run import run_live
from marqueue.scenario import load

SCENARIO = sys.argv[1]
ROOT = Path("/sys/fs/cgroup")
GROUP = ROOT / "marqueue-processor"
OWN = ROOT / "own"
"""The group that a link is started in."""
JSON = Path("/tmp/link.json")
LINK = [sys.executable, "-m", "marqueue", "link", "--rate", "10Mbit/s", "--json", str(JSON)]
STRICT = [*LINK, "--realtime", "strict", "--"]
# The command says in which group it runs, and ends when its input does.
WAITS = ["sh", "-c", "read group </proc/self/cgroup; echo $group; read end"]


def state() -> dict[str, object]:
    """What a link may change, of this process and of the machine."""
    groups = sorted(each.name for each in ROOT.iterdir() if each.is_dir())
    return {
        "groups": groups,
        "controllers": (ROOT / "cgroup.subtree_control").read_text().split(),
        "isolated": (ROOT / "cpuset.cpus.isolated").read_text().strip(),
        "mine": Path("/proc/self/cgroup").read_text().strip(),
        "processors": sorted(os.sched_getaffinity(0)),
        "record": Path("/run/marqueue/processor").read_text(),
    }


def status(pid: int, thread: int, name: str) -> str:
    """A line of what the kernel says of a thread."""
    text = Path(f"/proc/{pid}/task/{thread}/status").read_text()
    return next(line.split(":")[1].strip() for line in text.splitlines() if line.startswith(name))


def started(command: list[str]) -> subprocess.Popen[str]:
    """A link whose command runs, in the group of this process."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    link = subprocess.Popen(command, **pipes, text=True, start_new_session=True)
    assert link.stdout
    assert link.stderr
    if link.stdout.readline() != Path("/proc/self/cgroup").read_text():
        tell("failed", [link.wait(), link.stderr.read()])
        sys.exit(1)
    return link


def tell(name: str, value: object) -> None:
    print(f"== {name}\n{json.dumps(value)}", flush=True)


def during(link: subprocess.Popen[str]) -> dict[str, object]:
    """What there is while a link runs."""
    threads = [int(each) for each in (GROUP / "cgroup.threads").read_text().split()]
    [thread] = threads
    stat = Path(f"/proc/{link.pid}/task/{thread}/stat").read_text().rpartition(")")[2].split()
    return {
        **state(),
        "partition": (GROUP / "cpuset.cpus.partition").read_text().strip(),
        "its processes' group": Path(f"/proc/{link.pid}/cgroup").read_text().strip(),
        "threads": len(os.listdir(f"/proc/{link.pid}/task")),
        "thread is main": thread == link.pid,
        "thread": status(link.pid, thread, "Cpus_allowed_list"),
        "main": status(link.pid, link.pid, "Cpus_allowed_list"),
        # The fields 39, 19 and 41 of proc_pid_stat(5).
        "runs on": int(stat[36]),
        "nice": int(stat[16]),
        "policy": int(stat[38]),
    }


OWN.mkdir()
(OWN / "cgroup.procs").write_text("0")
Path("/run/marqueue").mkdir()
Path("/run/marqueue/processor").touch()
tell("before", state())

link = started([*STRICT, *WAITS])
tell("during", during(link))
second = subprocess.run([*STRICT, "true"], capture_output=True, text=True)
tell("second", [second.returncode, second.stderr])
_, said = link.communicate("\n")
tell("said", [link.returncode, said])
result = json.loads(JSON.read_text())
tell("result", {"isolated": result["audit"]["isolated"], "realtime": result["audit"]["realtime"]})
tell("after", state())

link = started([*STRICT, *WAITS])
os.killpg(link.pid, signal.SIGINT)
link.communicate()
tell("interrupted", [link.returncode, state()])

link = started([*STRICT, *WAITS])
link.terminate()
link.communicate()
tell("terminated", [link.returncode, state()])

for name, options in (("strict", STRICT), ("plain", [*LINK, "--"])):
    link = started([*STRICT, *WAITS])
    link.kill()
    link.communicate()
    left = state()
    following = subprocess.run([*options, "true"], check=False, capture_output=True)
    tell(f"killed before a {name} one", [following.returncode, left, state()])

with isolated_processor() as own:
    told = run_live(load(SCENARIO), own=own).provenance.live
assert told
tell("live", [told["audits"][0]["isolated"], told["timers"], state()])
command = [sys.executable, "-m", "marqueue", "live", SCENARIO, "--realtime", "strict"]
command += ["--set", "duration=1 h", "-o", "/tmp/interrupted"]
with subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True) as run:
    while not (GROUP.exists() and (GROUP / "cgroup.threads").read_text()):
        assert run.poll() is None
    os.killpg(run.pid, signal.SIGINT)
tell("live, interrupted", [run.returncode, state()])

# Somebody else wants it.
(ROOT / "cgroup.subtree_control").write_text("+cpuset")
(ROOT / "other").mkdir()
(ROOT / "other" / "cpuset.cpus").write_text("1")
(ROOT / "other" / "cpuset.cpus.exclusive").write_text("1")
taken = subprocess.run([*STRICT, "true"], capture_output=True, text=True)
tell("taken", [taken.returncode, taken.stderr, state()])
os.sched_setaffinity(0, {0})
one = subprocess.run([*STRICT, "true"], capture_output=True, text=True)
tell("one processor", [one.returncode, one.stderr])
