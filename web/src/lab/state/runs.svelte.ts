import type { Compiled, LinkInfo } from '../../engine/protocol';
import { sizeText } from '../schema/quantity';
import { Run, type Speed } from './run.svelte';

/** Bytes that a run may take: a tab that takes more is ended by the browser without a word. */
export const MOST_MEMORY = 1.5e9;

/** Milliseconds between two drawings of the charts. */
const DRAW_EVERY = 80;

export interface Wanted { compiled: Compiled; label: string }

/** The runs that are shown: one, or two side by side, and the one before as a ghost. */
export class Runs {
  runs = $state.raw<Run[]>([]);
  ghost = $state.raw<Run | null>(null);
  state = $state<'empty' | 'running' | 'paused' | 'finished'>('empty');
  speed = $state<Speed>('max');
  refusal = $state<string | null>(null);
  /** Name of the link whose charts and packets are shown. */
  link = $state<string>('');
  tracing = $state(false);
  /** Grows whenever there is something new to draw. */
  version = $state(0);
  /** Whether the charts do not show yet what is known. */
  private drawing = $state(false);
  private generation = 0;
  /** When the charts were drawn last, ms. */
  private drawn = -Infinity;

  /** Runs these plans from the beginning. The present run becomes the ghost if it has the same links. */
  async start(wanted: Wanted[], keepGhost: boolean): Promise<void> {
    const generation = ++this.generation;
    this.refusal = refusalOf(wanted);
    const before = this.runs[0];
    for (const run of this.runs) run.stop();
    if (this.refusal) {
      this.runs = [];
      this.state = 'empty';
      return;
    }
    if (!keepGhost) this.ghost = null;
    else if (before && before.now > 0) this.ghost = before;
    const links = queuesOf(wanted[0]!.compiled);
    if (!links.some((each) => each.name === this.link)) this.link = links[0]?.name ?? '';
    const runs = wanted.map(({ compiled, label }) => new Run(compiled, label, () => this.changed()));
    this.runs = runs;
    this.state = 'running';
    const seed = wanted[0]!.compiled.seed;
    await Promise.all(runs.map((run) => run.start(seed, this.tracing ? this.indexIn(run.compiled) : null)));
    if (generation !== this.generation) return;
    if (this.state === 'running') for (const run of runs) this.begin(run);
    this.settle();
  }

  /** Single packets are shown from the middle of the run on: at their speed nobody would wait for it. */
  private begin(run: Run): void {
    if (this.tracing && this.speed !== 'max' && this.speed < 1) {
      run.onPaused = () => this.state === 'running' && run.run(this.speed);
      run.step(run.compiled.duration / 3);
    } else run.run(this.speed);
  }

  play(): void {
    if (this.state === 'paused') {
      this.state = 'running';
      for (const run of this.runs) if (!run.finished) run.run(this.speed);
    }
  }

  pause(): void {
    if (this.state !== 'running') return;
    this.state = 'paused';
    for (const run of this.runs) run.pause();
  }

  step(seconds: number): void {
    if (this.state === 'running') this.pause();
    if (this.state === 'paused') for (const run of this.runs) if (!run.finished) run.step(seconds);
  }

  setSpeed(speed: Speed): void {
    this.speed = speed;
    if (this.state === 'running') for (const run of this.runs) if (!run.finished) run.run(speed);
  }

  /** Index of the chosen link in a plan; that of its first queue if it has no such link. */
  indexIn(compiled: Compiled): number | null {
    return this.linkIn(compiled)?.index ?? null;
  }

  linkIn(compiled: Compiled): LinkInfo | null {
    const links = queuesOf(compiled);
    return links.find((each) => each.name === this.link) ?? links[0] ?? null;
  }

  /** Whether what is shown will change by itself. */
  get busy(): boolean {
    return this.state === 'running' || this.drawing;
  }

  get failure(): string | null {
    return this.refusal ?? this.runs.find((run) => run.failure)?.failure ?? null;
  }

  /** Draws at once what is new, but not more often than `DRAW_EVERY`. */
  private changed(): void {
    this.settle();
    if (this.drawing) return;
    this.drawing = true;
    const wait = this.drawn + DRAW_EVERY - performance.now();
    if (wait > 0) setTimeout(() => this.draw(), wait);
    else this.draw();
  }

  private draw(): void {
    this.drawing = false;
    this.drawn = performance.now();
    this.version += 1;
  }

  private settle(): void {
    if (this.runs.length > 0 && this.runs.every((run) => run.finished || run.failure)) this.state = 'finished';
  }
}

/** The links of a plan that have a queue. */
export function queuesOf(compiled: Compiled): LinkInfo[] {
  return compiled.links.filter((each) => each.aqm !== null);
}

function refusalOf(wanted: Wanted[]): string | null {
  const bytes = wanted.reduce((sum, each) => sum + each.compiled.estimatedBytes, 0);
  if (bytes <= MOST_MEMORY) return null;
  return `The run would take about ${sizeText(bytes)} of memory, expected at most ${sizeText(MOST_MEMORY)} in a browser: ` +
    'shorten duration, take fewer flows, or run it with the command marqueue run.';
}
