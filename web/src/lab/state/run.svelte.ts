import type { Compiled, Summary, Update } from '../../engine/protocol';
import { Simulation } from '../../engine/simulation';
import { Samples } from './series';

/** Samples of a whole run: as many as a wide screen has points. */
const SAMPLES = 1500;

/** Flows that are sampled. */
const FLOWS = 16;

export type Speed = number | 'max';
export type PacketsSeen = NonNullable<Update['packets_seen']>;

/** One simulation in its worker, with all that it has said. */
export class Run {
  readonly samples = new Samples();
  now = $state(0);
  packets = $state(0);
  events = $state(0);
  finished = $state(false);
  failure = $state<string | null>(null);
  summary = $state.raw<Summary | null>(null);
  /** Called after each update, with what packets did. */
  onPackets: (seen: PacketsSeen, now: number) => void = () => {};
  /** Called once, when a step has ended. */
  onPaused: (() => void) | null = null;
  private until = 0;
  private simulation: Simulation | null = null;
  private ended = false;

  constructor(
    readonly compiled: Compiled,
    readonly label: string,
    private readonly changed: () => void,
  ) {}

  /** Prepares the engine. The run is paused. */
  async start(seed: string, tracedLink: number | null): Promise<void> {
    try {
      const simulation = await Simulation.start(this.compiled.plan, seed, {
        sampleStep: this.compiled.duration / SAMPLES,
        measureFrom: this.compiled.warmup,
        flows: watched(this.compiled),
        ...(tracedLink === null ? {} : { tracePackets: tracedLink }),
      });
      if (this.ended) {
        simulation.stop();
        return;
      }
      simulation.onUpdate = (update) => this.receive(update);
      simulation.onError = (message) => this.fail(message);
      this.simulation = simulation;
    } catch (error) {
      this.fail(error instanceof Error ? error.message : String(error));
    }
  }

  run(speed: Speed): void {
    this.simulation?.run(speed);
  }

  pause(): void {
    this.simulation?.pause();
  }

  step(seconds: number): void {
    this.until = this.now + seconds;
    this.simulation?.step(seconds);
  }

  /** The newest sample of a queue, packets. */
  queueNow(link: number): number {
    return this.samples.link(link, 'queue').at(-1) ?? 0;
  }

  /** Ends the worker; the samples stay. */
  stop(): void {
    this.ended = true;
    this.simulation?.stop();
    this.simulation = null;
  }

  private receive(update: Update): void {
    if (this.ended) return;
    this.samples.append(update);
    this.now = update.now;
    this.packets = update.packets;
    this.events = update.events;
    if (update.packets_seen) this.onPackets(update.packets_seen, update.now);
    if (this.onPaused && this.now >= this.until * (1 - 1e-9)) {
      this.onPaused();
      this.onPaused = null;
    }
    if (update.finished) void this.finish();
    this.changed();
  }

  private async finish(): Promise<void> {
    try {
      this.summary = (await this.simulation?.summary()) ?? null;
    } catch (error) {
      this.fail(error instanceof Error ? error.message : String(error));
    }
    this.finished = true;
    // The worker holds the memory of the whole network.
    this.stop();
    this.changed();
  }

  private fail(message: string): void {
    if (this.ended) return;
    this.failure = message;
    this.stop();
    this.changed();
  }
}

/** Flows whose windows and rates are sampled: some of each group, the first of all groups before the second. */
function watched({ groups }: Compiled): number[] {
  const flows: number[] = [];
  const most = Math.max(0, ...groups.map((each) => each.flows));
  for (let rank = 0; rank < most && flows.length < FLOWS; rank++) {
    for (const group of groups) if (group.firstFlow >= 0 && rank < group.flows) flows.push(group.firstFlow + rank);
  }
  return flows.slice(0, FLOWS);
}
