import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@playwright/test';
import type { Server } from 'node:http';
import type { Update } from '../src/engine/protocol';
import type { Simulation as Run } from '../src/engine/simulation';
import { serve } from './engine/server';
import { marqueue } from './lab/served';

const FILE = fileURLToPath(new URL('../../scenarios/dumbbell-avq.toml', import.meta.url));
const SCENARIO = readFileSync(FILE, 'utf8');

/** Two groups of two flows under AVQ for 6 s. */
const PLAN = JSON.stringify({
  duration: 6e9,
  boundaries: [],
  sample: 1e8,
  links: [
    {
      name: 'bottleneck', rate: 20_000_000, delay: 5_000_000,
      queue: { policy: { name: 'avq', params: {} }, limit: { packets: 100 }, signal: 'ecn', mean_packet: 1500 },
    },
    { name: 'back', rate: 1_000_000_000, delay: 20_000_000, queue: null },
  ],
  routes: [{ forward: [0], reverse: [1] }],
  transports: [{ preset: 'rfc' }],
  traffic: ['a', 'b'].map((name) => ({
    name,
    kind: { tcp: { transport: 0, route: 0, count: 2, start: 0, jitter: 1e9, stop: null, size: null, trace: false } },
  })),
}).replaceAll(':', ': ');

let server: Server;
let url: string;

test.beforeAll(async () => {
  ({ server, url } = await serve(fileURLToPath(new URL('../built/engine-page', import.meta.url))));
});
test.afterAll(() => void server.close());

test('a scenario is compiled and run under a security policy', async ({ page }) => {
  const problems: string[] = [];
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  await page.goto(url);
  const seen = await page.evaluate(async (toml) => {
    const { Compiler, Simulation } = window.engine;
    const compiler = await Compiler.load();
    const compiled = await compiler.compile(toml);
    if (!compiled.ok) throw new Error(JSON.stringify(compiled.problems));
    const { plan, seed, warmup } = compiled.compiled;
    const simulation = await Simulation.start(plan, seed, { sampleStep: 0.1, tracePackets: 0, measureFrom: warmup });
    const updates: Update[] = [];
    await new Promise<void>((resolve, reject) => {
      simulation.onError = (message) => reject(new Error(message));
      simulation.onUpdate = (update) => {
        updates.push(update);
        if (update.finished) resolve();
      };
      simulation.run('max');
    });
    const summary = await simulation.summary();
    simulation.stop();
    const t = updates.flatMap((update) => [...(update.links[0]?.columns['t'] ?? [])]);
    const last = updates.at(-1);
    const kinds = updates.flatMap((update) => [...(update.packets_seen?.what ?? [])]);
    const missed = updates.reduce((sum, update) => sum + (update.packets_seen?.missed ?? 0), 0);
    const packets = missed > 0 ? NaN : kinds.filter((kind) => kind === 1).length;
    return { t, summary, packets, departures: last?.packets, columns: Object.keys(last?.links[0]?.columns ?? {}), now: last?.now, duration: compiled.compiled.duration };
  }, SCENARIO);
  expect(problems).toEqual([]);
  expect(seen.summary.links[0]?.utilization).toBeGreaterThan(0.9);
  expect(seen.summary.measuredFrom).toBe(2);
  expect(seen.packets).toBe(seen.departures);
  expect(seen.now).toBe(seen.duration);
  expect(seen.t.length).toBe(Math.round(seen.duration / 0.1));
  expect(seen.t).toEqual([...seen.t].sort((a, b) => a - b));
  expect(seen.columns).toEqual(['t', 'queue', 'sojourn', 'drops', 'marks', 'utilization', 'virtual_capacity', 'virtual_capacity_share', 'virtual_queue']);
});

test('the figures are those of the first replication of marqueue run', async ({ page }) => {
  const folder = mkdtempSync(join(tmpdir(), 'marqueue-engine-'));
  await marqueue(folder, 'run', FILE, '-r', '1', '--no-report', '--out', 'out');
  type Figures = Record<string, { mean: number }>;
  const { windows } = JSON.parse(readFileSync(join(folder, 'out/summary.json'), 'utf8')) as {
    windows: { begin: number; links: Record<string, Figures>; groups: Record<string, Figures> }[];
  };
  rmSync(folder, { recursive: true });
  await page.goto(url);
  const seen = await page.evaluate(async (toml) => {
    const { Compiler, Simulation } = window.engine;
    const compiled = await (await Compiler.load()).compile(toml);
    if (!compiled.ok) throw new Error(JSON.stringify(compiled.problems));
    const { plan, seed, warmup } = compiled.compiled;
    const simulation = await Simulation.start(plan, seed, { sampleStep: 0.1, measureFrom: warmup });
    await new Promise<void>((resolve, reject) => {
      simulation.onError = (message) => reject(new Error(message));
      simulation.onUpdate = ({ finished }) => finished && resolve();
      simulation.run('max');
    });
    return simulation.summary();
  }, SCENARIO);
  const link = seen.links[0]!;
  const measured = windows.find(({ begin }) => begin === seen.measuredFrom)!;
  const native = measured.links['bottleneck']!;
  // The same sums, in another order of addition.
  for (const [figure, there] of [['utilization', link.utilization], ['queue_mean', link.queueMean], ['delay_mean', link.delayMean]] as const) {
    expect(Math.abs(there / native[figure]!.mean - 1), figure).toBeLessThan(1e-12);
  }
  expect(seen.groups.map((group) => group.goodput).reduce((a, b) => a + b)).toBeCloseTo(measured.groups['bulk']!['goodput']!.mean, 3);
});

test('a run is paused, stepped and run at a speed, and has the same samples', async ({ page }) => {
  await page.goto(url);
  const seen = await page.evaluate(async (plan) => {
    const { Simulation } = window.engine;
    const follow = async (drive: (s: Run) => void) => {
      const simulation = await Simulation.start(plan, 7, { sampleStep: 0.05, flows: [0, 1] });
      const queue: number[] = [];
      const windows: number[] = [];
      await new Promise<void>((resolve, reject) => {
        simulation.onError = (message) => reject(new Error(message));
        simulation.onUpdate = (update) => {
          queue.push(...(update.links[0]?.columns['queue'] ?? []));
          windows.push(...(update.flows.cwnd[1] ?? []));
          if (update.finished) resolve();
          else drive(simulation);
        };
        drive(simulation);
      });
      simulation.stop();
      return { queue, windows };
    };
    return {
      whole: await follow((s) => s.run('max')),
      steps: await follow((s) => s.step(0.33)),
      timed: await follow((s) => s.run(1000)),
    };
  }, PLAN);
  expect(seen.whole.queue.length).toBe(120);
  // A flow that has not started has no window.
  expect(Math.max(...seen.whole.windows.filter(Number.isFinite))).toBeGreaterThan(2);
  expect(seen.steps).toEqual(seen.whole);
  expect(seen.timed).toEqual(seen.whole);
});

test('plans that are wrong or too large are refused before they start', async ({ page }) => {
  await page.goto(url);
  const refusal = (plan: string) =>
    page.evaluate(
      (given) => window.engine.Simulation.start(given, 1, { sampleStep: 0.1 }).then(() => 'started', (error: Error) => error.message),
      plan,
    );
  expect(await refusal(PLAN.replace('"duration": 6000000000', '"duration": 0'))).toContain('duration: got 0, expected more');
  expect(await refusal('{')).toContain('JSON');
  const large = JSON.parse(PLAN) as { traffic: { kind: { tcp: { count: number } } }[] };
  for (const group of large.traffic) group.kind.tcp.count = 3_000_000;
  expect(await refusal(JSON.stringify(large))).toMatch(/^this run needs about \d+\.\d GB, expected at most 2 GB: the memory of WebAssembly/);
});
