import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const PYTHON = resolve(process.env.MARQUEUE_PYTHON ?? '../.venv/bin/python');

/** A text that would be a script, if a page took it for HTML. */
export const HOSTILE = '</script><script>document.title = "taken"</script><img src=x onerror=alert(1)>';

const scenario = (settings: string) => `
name = '${HOSTILE}'
duration = "6 s"
warmup = "2 s"
cuts = ["4 s"]
replications = 3
sample = "20 ms"
${settings}

[topology]
kind = "parking-lot"
access = { rate = "1 Gbit/s", delay = "5 ms" }
[[topology.hops]]
rate = "5 Mbit/s"
delay = "5 ms"
buffer = "40 packets"
aqm = "red"
[[topology.hops]]
rate = "4 Mbit/s"
delay = "5 ms"
buffer = "40 packets"
aqm = "red"

[transport.default]
preset = "rfc"
ecn = true

[[traffic]]
name = "<b>long"
kind = "tcp"
count = 3
classes = ["through"]
trace = true

[[traffic]]
name = "short"
kind = "poisson"
rate = "8 /s"
size = "10 packets"
classes = ["through"]
`;

/** Reports as the command writes them, in a folder of their own. */
export class Reports {
  private readonly folder = mkdtempSync(join(tmpdir(), 'marqueue-reports-'));

  /** Runs marqueue in the folder. */
  marqueue(...words: string[]): void {
    execFileSync(PYTHON, ['-m', 'marqueue', ...words], { cwd: this.folder, stdio: 'pipe' });
  }

  /** Writes the scenario with other settings at its top level. */
  write(name: string, settings = ''): void {
    writeFileSync(this.path(name), scenario(settings));
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  url(name: string): string {
    return pathToFileURL(this.path(name)).href;
  }

  read(name: string): string {
    return readFileSync(this.path(name), 'utf-8');
  }

  /** Writes a page made from another one. */
  change(from: string, to: string, change: (page: string) => string): void {
    const [before, after] = [this.read(from), change(this.read(from))];
    if (before === after) throw new Error(`${to} is ${from}: nothing was changed`);
    writeFileSync(this.path(to), after);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }
}
