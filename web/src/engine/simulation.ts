import type { SimulationOptions, Summary, Update } from './protocol';
import { Caller } from './rpc';

/** A worker that loads the engine while no run needs it yet. */
let spare: Worker | null = null;

/** Begins to load the engine, so that the next run need not wait for it. */
export function prepareWorker(): void {
  spare ??= newWorker();
}

function newWorker(): Worker {
  return new Worker(new URL('./simulation.worker.ts', import.meta.url), { type: 'module' });
}

function takeWorker(): Worker {
  const worker = spare ?? newWorker();
  spare = null;
  return worker;
}

/** A run of a plan in a worker. It begins paused. */
export class Simulation {
  /** Called with what is new. The run goes on meanwhile; more is sent when it has returned. */
  onUpdate: (update: Update) => void = () => {};
  /** Called if the engine fails during the run. */
  onError: (message: string) => void = () => {};
  private readonly caller: Caller;

  private constructor(worker: Worker) {
    this.caller = new Caller(worker, (message) => this.receive(message as { update: Update } | { failed: string }));
  }

  /**
   * Prepares the first replication of a scenario with this seed. Rejects with the engine's message if the plan is wrong or
   * would not fit memory.
   */
  static async start(plan: string, seed: number | string, options: SimulationOptions): Promise<Simulation> {
    const simulation = new Simulation(takeWorker());
    try {
      await simulation.caller.call('start', plan, seed, options);
    } catch (error) {
      simulation.stop();
      throw error;
    }
    return simulation;
  }

  /** Runs on, at this many simulated seconds a second, or as fast as it can. */
  run(speed: number | 'max'): void {
    this.send('run', speed);
  }

  pause(): void {
    this.send('pause');
  }

  /** Runs on for this many simulated seconds, as fast as it can, and pauses. */
  step(seconds: number): void {
    this.send('step', seconds);
  }

  /** Ends the worker. */
  stop(): void {
    this.caller.end();
  }

  /** The figures of the run so far. The run cannot go on afterwards. */
  summary(): Promise<Summary> {
    return this.caller.call<Summary>('summary');
  }

  private send(method: string, ...args: unknown[]): void {
    this.caller.call(method, ...args).catch((error: Error) => {
      if (error.message !== 'stopped') this.onError(error.message);
    });
  }

  private receive(message: { update: Update } | { failed: string }): void {
    if ('failed' in message) {
      this.onError(message.failed);
      return;
    }
    this.onUpdate(message.update);
    this.send('seen');
  }
}
