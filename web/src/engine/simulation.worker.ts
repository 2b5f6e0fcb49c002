/// <reference lib="webworker" />
// Runs the engine. It hands over what is new about thirty times a second, or when the page has seen the last.

import init, { replication_seed, Run } from '../../built/engine/marqueue_wasm.js';
import wasm from '../../built/engine/marqueue_wasm_bg.wasm?url';
import type { SimulationOptions, Summary, Update } from './protocol';
import { answer } from './rpc';

declare const self: DedicatedWorkerGlobalScope;

/** Events between two looks at the clock: a few milliseconds. */
const EVENTS = 20_000;
/** Milliseconds of work between two updates. */
const TURN = 33;
const DEFAULT_FLOWS = 16;

type Pace =
  | { kind: 'paused' }
  | { kind: 'max'; until: number }
  | { kind: 'timed'; speed: number; since: number; from: number };

// Loaded before a plan is known. A failure is told to the call that waits for it.
const loaded = init({ module_or_path: wasm });
loaded.catch(() => undefined);

let run: Run;
let options: SimulationOptions;
let flows: number[];
let columns: string[][];
let pace: Pace = { kind: 'paused' };
let seen = true;
let scheduled = false;
/** When the next turn may begin, ms. */
let due = 0;

// A message to oneself: unlike timers, it is not slowed down where it repeats, and other messages come between.
const turns = new MessageChannel();
turns.port1.onmessage = turn;

function schedule(): void {
  if (scheduled || pace.kind === 'paused') return;
  scheduled = true;
  const wait = due - performance.now();
  if (wait > 0) setTimeout(turn, wait);
  else turns.port2.postMessage(null);
}

function turn(): void {
  scheduled = false;
  if (pace.kind === 'paused') return;
  try {
    const began = performance.now();
    const until = pace.kind === 'max' ? pace.until : pace.from + ((began - pace.since) / 1000) * pace.speed;
    let reached = run.advance(until, EVENTS);
    while (!reached && performance.now() - began < TURN) reached = run.advance(until, EVENTS);
    if (pace.kind === 'timed') {
      // Where the machine is slower than the wish, what it missed is not made up for.
      if (!reached) pace = { ...pace, from: run.now(), since: performance.now() };
      due = began + TURN;
    }
    if (run.finished() || (pace.kind === 'max' && reached)) pace = { kind: 'paused' };
    if (seen || pace.kind === 'paused') send();
    schedule();
  } catch (error) {
    pace = { kind: 'paused' };
    self.postMessage({ failed: error instanceof Error ? error.message : String(error) });
  }
}

/** Sends what is new since the last call. */
function send(): void {
  const transfer: ArrayBuffer[] = [];
  const keep = <T extends Float64Array | Int32Array | Uint8Array>(array: T): T => {
    transfer.push(array.buffer as ArrayBuffer);
    return array;
  };
  const update: Update = {
    now: run.now(),
    events: run.events(),
    packets: run.departures(),
    finished: run.finished(),
    links: Array.from(run.links(), (index, n) => {
      const names = columns[n] ?? [];
      const split = parts(run.take_link(n), names.length);
      return { index, columns: Object.fromEntries(names.map((name, i) => [name, keep(split[i] ?? new Float64Array())])) };
    }),
    flows: { t: new Float64Array(), cwnd: {}, rate: {} },
  };
  const [t, ...each] = parts(run.take_flows(), 1 + 2 * flows.length).map(keep);
  update.flows.t = t ?? update.flows.t;
  flows.forEach((flow, i) => {
    update.flows.cwnd[flow] = each[2 * i] ?? new Float64Array();
    update.flows.rate[flow] = each[2 * i + 1] ?? new Float64Array();
  });
  if (options.tracePackets !== undefined) {
    update.packets_seen = {
      link: options.tracePackets,
      t: keep(run.packet_times()),
      flow: keep(run.packet_flows()),
      what: keep(run.packet_kinds()),
      missed: run.clear_packets(),
    };
  }
  seen = false;
  self.postMessage({ update }, transfer);
}

/** Cuts an array into this many of equal length. */
function parts(all: Float64Array, count: number): Float64Array[] {
  const length = all.length / count;
  return Array.from({ length: count }, (_, i) => all.slice(i * length, (i + 1) * length));
}

answer(self, {
  async start(plan: string, seed: number | string, given: SimulationOptions): Promise<void> {
    await loaded;
    options = given;
    const groups = (JSON.parse(plan) as { traffic: { kind: Record<string, { count?: number }> }[] }).traffic;
    const count = groups.reduce((sum, group) => sum + (Object.values(group.kind)[0]?.count ?? 0), 0);
    flows = options.flows ?? Array.from({ length: Math.min(count, DEFAULT_FLOWS) }, (_, i) => i);
    const first = replication_seed(BigInt(seed), 0n);
    run = new Run(plan, first, options.sampleStep, options.tracePackets, Uint32Array.from(flows));
    columns = Array.from(run.links(), (_, n) => run.columns(n));
  },
  run(speed: number | 'max'): void {
    due = 0;
    pace =
      speed === 'max'
        ? { kind: 'max', until: Infinity }
        : { kind: 'timed', speed, since: performance.now(), from: run.now() };
    schedule();
  },
  pause(): void {
    pace = { kind: 'paused' };
  },
  step(seconds: number): void {
    due = 0;
    pace = { kind: 'max', until: run.now() + seconds };
    schedule();
  },
  seen(): void {
    seen = true;
  },
  summary(): Summary {
    pace = { kind: 'paused' };
    return JSON.parse(run.summary(options.measureFrom ?? 0)) as Summary;
  },
});
