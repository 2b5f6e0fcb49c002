"""The server of the lab: who is let in, what is served, and what it says of results."""

import http.client
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from typer.testing import CliRunner

from marqueue import run
from marqueue.cli import app
from marqueue.lab import server as lab_server
from marqueue.lab.folder import Folder
from marqueue.lab.server import Lab, LabServer
from marqueue.scenario import Scenario, from_dict
from marqueue.simulation.sweep import sweep

MOST_SECONDS = 60


def small(**keys: Any) -> Scenario:
    """A scenario that runs in milliseconds."""
    return from_dict(
        {
            "name": "Small",
            "duration": "2 s",
            "replications": 2,
            "topology": {
                "kind": "dumbbell",
                "rtts": ["40 ms"],
                "bottleneck": {"rate": "2 Mbit/s", "delay": "5 ms", "buffer": "20 packets"},
            },
            "traffic": [{"kind": "tcp", "count": 2}],
            **keys,
        }
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, a run with another seed, a sweep, a damaged result, a symbolic link that
    leads outside, and a file beside the folder."""
    root = tmp_path_factory.mktemp("lab")
    (root / "secret.html").write_text("secret", encoding="utf-8")
    folder = root / "results"
    folder.mkdir()
    run(small()).save(folder / "a")
    (folder / "a" / "report.html").write_text("<script>1</script>", encoding="utf-8")
    run(small(seed=2)).save(folder / "b")
    sweep(small(), ["traffic.0.count=1,2"], folder / "counts")
    (folder / "damaged").mkdir()
    (folder / "damaged" / "provenance.json").write_text("{}", encoding="utf-8")
    (folder / "leads-out").symlink_to(root)
    (folder / "leads-out.toml").symlink_to(root / "secret.html")
    return folder


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages in place of the built ones."""
    root = tmp_path_factory.mktemp("pages")
    built = root / "built"
    built.mkdir()
    (built / "index.html").write_text(
        '<meta name="marqueue-served" content="no" />', encoding="utf-8"
    )
    (built / "engine.wasm").write_bytes(b"\0asm")
    (root / "beside.txt").write_text("secret", encoding="utf-8")
    (built / "leads-out.txt").symlink_to(root / "beside.txt")
    return built


@contextmanager
def serving(pages: Path, folder: Path | None) -> Iterator[LabServer]:
    with LabServer(Lab(pages, None if folder is None else Folder.of(folder))) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def server(pages: Path, results: Path) -> Iterator[LabServer]:
    with serving(pages, results) as running:
        yield running


def ask(
    server: LabServer,
    path: str,
    method: str = "GET",
    body: str | None = None,
    **headers: str,
) -> tuple[http.client.HTTPResponse, str]:
    """The response to a request and its text. ``path`` begins with / to leave out the token."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=MOST_SECONDS)
    target = path if path.startswith("/") else f"/{server.lab.token}/{path}"
    try:
        connection.request(method, target, body, headers)
        response = connection.getresponse()
        return response, response.read().decode()
    finally:
        connection.close()


def fetched(server: LabServer, path: str) -> Any:
    response, text = ask(server, path)
    assert response.status == 200, text
    return json.loads(text)


def origin(server: LabServer) -> str:
    return f"http://127.0.0.1:{server.server_port}"


def test_listens_on_this_machine_only(server: LabServer) -> None:
    assert server.server_address[0] == "127.0.0.1"


def test_pages_have_a_policy_without_inline_scripts(server: LabServer) -> None:
    response, text = ask(server, "")
    assert response.status == 200
    assert 'content="yes"' in text
    policy = response.headers["Content-Security-Policy"]
    scripts = re.search(r"script-src ([^;]*)", policy)
    assert scripts
    assert scripts[1].split() == ["'self'", "'wasm-unsafe-eval'"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Referrer-Policy"] == "no-referrer"


def test_wasm_has_its_media_type(server: LabServer) -> None:
    response, _ = ask(server, "engine.wasm")
    assert response.headers["Content-Type"] == "application/wasm"


@pytest.mark.parametrize(
    "path", ["/", "/index.html", "/api/results", "/wrong/", "/wrong/api/results"]
)
def test_nothing_without_the_token(server: LabServer, path: str) -> None:
    response, text = ask(server, path)
    assert response.status == 403
    assert "token" in text
    assert server.lab.token not in text


@pytest.mark.parametrize("host", ["example.org", "127.0.0.1", "127.0.0.1:1", "evil.example:80", ""])
def test_another_host_is_refused(server: LabServer, host: str) -> None:
    for path in ("", "api/results"):
        response, text = ask(server, path, Host=host)
        assert response.status == 421
        assert "Small" not in text


@pytest.mark.parametrize("method", ["HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(server: LabServer, method: str) -> None:
    response, _ = ask(server, "api/results", method)
    assert response.status == 405
    assert response.headers["Allow"] == "GET, POST"


@pytest.mark.parametrize(
    "path",
    [
        "../beside.txt",
        "%2e%2e/beside.txt",
        "..%2fbeside.txt",
        "leads-out.txt",
        "/etc/passwd",
        "//etc/passwd",
        "%00",
        "x" * 5000,
    ],
)
def test_no_page_outside_the_pages(server: LabServer, path: str) -> None:
    response, text = ask(server, f"/{server.lab.token}/{path}")
    assert response.status == 404
    assert "secret" not in text


@pytest.mark.parametrize("path", ["..", "leads-out", "a/../..", "/", "%00", "missing"])
def test_no_result_outside_the_folder(server: LabServer, path: str) -> None:
    response, text = ask(server, f"api/scenario?path={path}")
    assert response.status == 404
    response, text = ask(server, f"api/compare?a=a&b={path}")
    assert response.status in (400, 404)
    assert "secret" not in text


def test_a_long_list_is_one_setting(server: LabServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def settings() -> dict[str, str]:
        found = fetched(server, "api/results")["results"]
        return next(each["settings"] for each in found if each["path"] == "a")

    every = settings()
    assert "traffic.0.count" in every
    monkeypatch.setattr("marqueue.lab.listing.MOST_ENTRIES", 0)
    short = settings()
    assert short["traffic"] == "1 entries"
    assert not any(key.startswith("traffic.") for key in short)
    assert short["topology.bottleneck.rate"] == every["topology.bottleneck.rate"]


def test_a_scenario_that_is_too_long_for_the_page_cannot_be_opened_there(
    server: LabServer, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    length = (results / "a" / "scenario.toml").stat().st_size
    for most, editable in ((length, True), (length - 1, False)):
        monkeypatch.setattr("marqueue.lab.listing.LARGEST_SCENARIO", most)
        found = fetched(server, "api/results")["results"]
        assert next(each["scenario"] for each in found if each["path"] == "a") is editable


def test_results_with_their_settings_and_figures(server: LabServer, results: Path) -> None:
    found = fetched(server, "api/results")
    by_path = {each["path"]: each for each in found["results"]}
    assert set(by_path) == {"a", "b", "counts", "counts/points/1", "counts/points/2", "damaged"}
    a = by_path["a"]
    assert (a["name"], a["kind"], a["problem"]) == ("Small", "run", None)
    assert a["settings"]["topology.bottleneck.rate"] == '"2 Mbit/s"'
    assert by_path["b"]["settings"]["seed"] == "2"
    summary = json.loads((results / "a" / "summary.json").read_text(encoding="utf-8"))
    expected = summary["measured"]["links"]["bottleneck"]["utilization"]
    assert a["links"]["bottleneck"]["utilization"] == expected
    assert by_path["counts"]["over"] == {"traffic.0.count": ["1", "2"]}
    assert [by_path[f"counts/points/{n}"]["at"] for n in (1, 2)] == [{"count": "1"}, {"count": "2"}]
    listed = [each["path"] for each in found["results"]]
    assert listed[listed.index("counts") :][:3] == ["counts", "counts/points/1", "counts/points/2"]
    assert "damaged" in by_path["damaged"]["problem"]


def test_a_report_runs_in_a_sandbox_without_the_token(server: LabServer) -> None:
    found = {each["path"]: each for each in fetched(server, "api/results")["results"]}
    address = found["a"]["report"]
    assert server.lab.token not in address
    response, text = ask(server, address)
    assert text == "<script>1</script>"
    policy = response.headers["Content-Security-Policy"]
    assert policy.startswith("sandbox allow-scripts")
    assert "allow-same-origin" not in policy
    assert "default-src 'none'" in policy
    assert found["b"]["report"] is None
    other = address.rsplit("/", 1)[0] + "/b"
    assert ask(server, other)[0].status == 403


def test_scenario_of_a_result(server: LabServer) -> None:
    assert 'name = "Small"' in fetched(server, "api/scenario?path=a")["toml"]


def test_comparison(server: LabServer) -> None:
    compared = fetched(server, "api/compare?a=a&b=b")
    assert {"path": "seed", "a": "1", "b": "2"} in compared["settings"]
    assert "bottleneck" in [each["name"] for each in compared["subjects"]]


def test_comparing_what_is_no_run(server: LabServer) -> None:
    response, text = ask(server, "api/compare?a=a&b=damaged")
    assert response.status == 400
    assert "damaged" in json.loads(text)["message"]


def test_progress_of_a_sweep_that_runs(server: LabServer, results: Path) -> None:
    from marqueue.results.directory_lock import locked
    from marqueue.simulation.checkpoints import Checkpoints

    target = results / "long"
    checkpoints = Checkpoints(results / "long.checkpoints")
    checkpoints.belong_to({"scenario": small().to_dict(), "over": {"seed": ["1", "2", "3"]}})
    checkpoints.begin()
    (checkpoints.points / "1").mkdir(parents=True)
    with locked(target, target):
        (found,) = fetched(server, "api/progress")["unfinished"]
    assert found["path"] == "long"
    assert (found["done"], found["total"], found["unit"]) == (1, 3, "points")
    assert found["running"]
    (later,) = fetched(server, "api/progress")["unfinished"]
    assert not later["running"]


def test_a_run_needs_the_pages_as_origin(server: LabServer) -> None:
    body = json.dumps({"toml": "name = 'x'"})
    for headers in ({}, {"Origin": "http://evil.example"}, {"Origin": "null"}):
        response, _ = ask(server, "api/run", "POST", body, **headers)
        assert response.status == 403
    assert ask(server, "/wrong/api/run", "POST", body, Origin=origin(server))[0].status == 403
    assert ask(server, "api/results", "POST", body, Origin=origin(server))[0].status == 404


def test_a_run_with_mistakes_has_the_messages_of_the_command(server: LabServer) -> None:
    body = json.dumps({"toml": 'name = "x"\nduration = "a while"\n'})
    response, text = ask(server, "api/run", "POST", body, Origin=origin(server))
    assert response.status == 400
    problems = {each["path"]: each["message"] for each in json.loads(text)["problems"]}
    assert problems["duration"].startswith('got "a while", expected')


@pytest.mark.parametrize("body", ["", "not JSON", "[]", '{"toml": 1}'])
def test_a_malformed_request_is_refused(server: LabServer, body: str) -> None:
    response, text = ask(server, "api/run", "POST", body, Origin=origin(server))
    assert response.status == 400
    assert "expected JSON" in text


def test_a_body_that_is_too_large_is_refused(
    server: LabServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab_server, "LARGEST_BODY", 10)
    response, _ = ask(server, "api/run", "POST", '{"toml": "name = 1"}', Origin=origin(server))
    assert response.status == 413


def test_a_run_writes_a_result_into_the_folder(pages: Path, tmp_path: Path) -> None:
    with serving(pages, tmp_path) as server:
        toml = (
            'name = "Again"\nduration = "2 s"\nreplications = 2\n'
            '[topology]\nkind = "dumbbell"\nrtts = ["40 ms"]\n'
            '[topology.bottleneck]\nrate = "2 Mbit/s"\ndelay = "5 ms"\nbuffer = "20 packets"\n'
            '[[traffic]]\nkind = "tcp"\n'
        )
        body = json.dumps({"toml": toml})
        response, text = ask(server, "api/run", "POST", body, Origin=origin(server))
        assert response.status == 202
        assert json.loads(text)["path"] == "lab-run-1"
        assert server.lab.jobs is not None
        assert server.lab.jobs.jobs[0].process.wait(MOST_SECONDS) == 0
        (job,) = fetched(server, "api/progress")["started"]
        assert job["state"] == "done"
        assert [each["name"] for each in fetched(server, "api/results")["results"]] == ["Again"]


def test_without_a_folder_there_are_pages_only(pages: Path) -> None:
    with serving(pages, None) as server:
        assert 'content="no"' in ask(server, "")[1]
        assert ask(server, "api/results")[0].status == 404
        assert ask(server, "api/run", "POST", "{}", Origin=origin(server))[0].status == 404


def test_the_command_says_that_the_pages_are_not_built(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("marqueue.cli.lab.PAGES", tmp_path)
    result = CliRunner().invoke(app, ["lab"])
    assert result.exit_code != 0
    assert "not built" in str(result.exception)
    assert "Node.js" in str(result.exception)


def test_the_command_refuses_what_is_no_directory(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["lab", os.fspath(tmp_path / "missing")])
    assert "expected a directory with results" in str(result.exception)
