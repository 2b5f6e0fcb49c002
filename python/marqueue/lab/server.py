"""A server of the lab's pages for one user on this machine.

It is made of ``http.server`` of the standard library: it serves some files and a handful of
requests to one browser, so a framework would add packages and nothing else.

What keeps others out: it listens on 127.0.0.1 only; every address begins with a random token;
requests whose Host is another name are refused, which ends DNS rebinding; a request that starts a
run must come from the lab's own pages (Origin). Pages may load nothing from elsewhere and run no
script that is written into them. Reports contain scripts of their own: they have their own
addresses, without the token, and run in a sandbox without network.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import sys
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from marqueue.errors import MarqueueError, ScenarioError
from marqueue.lab.folder import Folder, Outside
from marqueue.lab.listing import REPORT, SCENARIO, listing
from marqueue.lab.progress import unfinished
from marqueue.lab.rerun import Jobs

ADDRESS = "127.0.0.1"

LARGEST_BODY = 4 * 2**20
"""Bytes of a request. Scenarios that a page can hold are far smaller."""

POLICY = "; ".join(
    [
        "default-src 'none'",
        # WebAssembly is compiled from files of this server; eval is not allowed.
        "script-src 'self' 'wasm-unsafe-eval'",
        "worker-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "frame-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)
"""The content security policy of the lab's pages."""

REPORT_POLICY = "; ".join(
    [
        "sandbox allow-scripts allow-downloads allow-popups",
        "default-src 'none'",
        "script-src 'unsafe-inline'",
        "style-src 'unsafe-inline'",
        "img-src data: blob:",
        "font-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'self'",
    ]
)
"""The policy of reports: their own scripts, in a sandbox, without network."""

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
    ".zip": "application/zip",
}
"""Media types by suffix. The system's table is not asked: it may lack wasm."""

NOT_SERVED = b'<meta name="marqueue-served" content="no"'
SERVED = b'<meta name="marqueue-served" content="yes"'
"""A mark in the page that tells it whether there is a server to ask."""


class Refused(Exception):
    """A request that is answered with a status and a sentence."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass
class Lab:
    """What the server shows."""

    pages: Path
    """The built pages."""
    folder: Folder | None
    """The folder with results; None for the pages alone."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    jobs: Jobs | None = None

    def __post_init__(self) -> None:
        self.pages = self.pages.resolve(strict=True)
        if self.folder is not None:
            self.jobs = Jobs(self.folder)

    def report_key(self, name: str) -> str:
        """The key in the address of a report. It opens this report alone and does not reveal the
        token."""
        return hmac.new(self.token.encode(), name.encode(), hashlib.sha256).hexdigest()[:40]

    def report_address(self, name: str) -> str:
        """The path of a report's address, given the path of its result."""
        return f"/report/{self.report_key(name)}/{quote(name)}"


class LabServer(ThreadingHTTPServer):
    """A server on a free port, or a given one."""

    daemon_threads = True

    def __init__(self, lab: Lab, port: int = 0) -> None:
        self.lab = lab
        super().__init__((ADDRESS, port), Handler)

    @property
    def hosts(self) -> tuple[str, str]:
        """The values of Host that are answered."""
        return (f"{ADDRESS}:{self.server_port}", f"localhost:{self.server_port}")

    @property
    def url(self) -> str:
        """The address to open."""
        return f"http://{self.hosts[0]}/{self.lab.token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing of browsers that close a connection, which they do with every page."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def server_close(self) -> None:
        """Closes the port and interrupts runs."""
        super().server_close()
        if self.lab.jobs is not None:
            self.lab.jobs.stop()


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    server: LabServer
    protocol_version = "HTTP/1.1"
    server_version = "marqueue"
    sys_version = ""
    timeout = 60

    def do_GET(self) -> None:
        """Pages, results and reports."""
        self._answer("GET")

    def do_POST(self) -> None:
        """Starts a run."""
        self._answer("POST")

    def _other(self) -> None:
        self.close_connection = True
        self._send(HTTPStatus.METHOD_NOT_ALLOWED, b"expected GET or POST\n", {"Allow": "GET, POST"})

    do_HEAD = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_TRACE = _other  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Says nothing: addresses contain the token."""

    def _answer(self, method: str) -> None:
        try:
            self._route(method)
        except Refused as refusal:
            # The body of a refused request is not read.
            self.close_connection = True
            self._send(refusal.status, f"{refusal.message}\n".encode())
        except Outside:
            self._send(HTTPStatus.NOT_FOUND, b"no such file\n")
        except ScenarioError as error:
            problems = [{"path": each.path, "message": each.message} for each in error.problems]
            self._json({"problems": problems, "message": str(error)}, HTTPStatus.BAD_REQUEST)
        except MarqueueError as error:
            self._json({"problems": [], "message": str(error)}, HTTPStatus.BAD_REQUEST)
        except ConnectionError:
            self.close_connection = True

    def _route(self, method: str) -> None:
        if self.headers.get("Host") not in self.server.hosts:
            raise Refused(HTTPStatus.MISDIRECTED_REQUEST, f"expected Host {self.server.hosts[0]}")
        target = urlsplit(self.path)
        first, _, rest = unquote(target.path).removeprefix("/").partition("/")
        if first == "report" and method == "GET":
            self._report(rest)
            return
        if not secrets.compare_digest(first.encode(), self.server.lab.token.encode()):
            raise Refused(
                HTTPStatus.FORBIDDEN, "expected the address that `marqueue lab` printed, with token"
            )
        if method == "POST":
            self._post(rest)
        elif rest.startswith("api/"):
            self._get(rest.removeprefix("api/"), parse_qs(target.query))
        else:
            self._page(rest or "index.html")

    def _page(self, name: str) -> None:
        pages = self.server.lab.pages
        path = Folder(pages).inside(name)
        if not path.is_file():
            raise Outside(name)
        content = path.read_bytes()
        if path == pages / "index.html" and self.server.lab.folder is not None:
            content = content.replace(NOT_SERVED, SERVED)
        kind = TYPES.get(path.suffix, "application/octet-stream")
        self._send(HTTPStatus.OK, content, {"Content-Type": kind, "Cache-Control": "no-cache"})

    def _report(self, rest: str) -> None:
        lab = self.server.lab
        key, _, name = rest.partition("/")
        expected = lab.report_key(name)
        if lab.folder is None or not secrets.compare_digest(key.encode(), expected.encode()):
            raise Refused(HTTPStatus.FORBIDDEN, "expected the address of a report from the lab")
        content = lab.folder.inside(f"{name}/{REPORT}").read_bytes()
        self._send(
            HTTPStatus.OK,
            content,
            {"Content-Type": TYPES[".html"], "Content-Security-Policy": REPORT_POLICY},
        )

    def _get(self, name: str, query: dict[str, list[str]]) -> None:
        folder = self._folder()
        match name:
            case "results":
                found = listing(folder)
                for each in found["results"]:
                    address = self.server.lab.report_address(each["path"])
                    each["report"] = address if each["report"] else None
                self._json(found)
            case "progress":
                jobs = self.server.lab.jobs
                started = [job.as_dict() for job in jobs.jobs] if jobs else []
                self._json({"unfinished": unfinished(folder), "started": started})
            case "scenario":
                path = folder.inside(f"{self._one(query, 'path')}/{SCENARIO}")
                self._json({"toml": path.read_text(encoding="utf-8")})
            case "compare":
                # It loads pyarrow, which a page alone does without.
                from marqueue.lab.compared import compared

                a, b = (folder.inside(self._one(query, key)) for key in ("a", "b"))
                self._json(compared(a, b))
            case _:
                raise Outside(name)

    def _post(self, name: str) -> None:
        jobs = self.server.lab.jobs
        if name != "api/run" or jobs is None:
            raise Outside(name)
        if self.headers.get("Origin") not in {f"http://{host}" for host in self.server.hosts}:
            raise Refused(HTTPStatus.FORBIDDEN, "expected a request of the lab's own pages")
        content = self._body()
        try:
            toml = json.loads(content)["toml"]
        except (ValueError, KeyError, TypeError):
            toml = None
        if not isinstance(toml, str):
            raise Refused(HTTPStatus.BAD_REQUEST, 'expected JSON with "toml", the scenario')
        self._json(jobs.start(toml).as_dict(), HTTPStatus.ACCEPTED)

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > LARGEST_BODY:
            raise Refused(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"expected at most {LARGEST_BODY} bytes"
            )
        return self.rfile.read(int(length))

    def _folder(self) -> Folder:
        folder = self.server.lab.folder
        if folder is None:
            raise Outside("no folder of results")
        return folder

    def _one(self, query: dict[str, list[str]], key: str) -> str:
        values = query.get(key, [])
        if len(values) != 1:
            raise Refused(HTTPStatus.BAD_REQUEST, f"expected one {key}")
        return values[0]

    def _json(self, value: Any, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._send(status, json.dumps(value).encode(), {"Content-Type": TYPES[".json"]})

    def _send(
        self, status: HTTPStatus, content: bytes, headers: dict[str, str] | None = None
    ) -> None:
        all_headers = {
            "Content-Type": "text/plain; charset=utf-8",
            "Content-Length": str(len(content)),
            "Content-Security-Policy": POLICY,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-store",
            **(headers or {}),
        }
        self.send_response(status)
        for key, value in all_headers.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
