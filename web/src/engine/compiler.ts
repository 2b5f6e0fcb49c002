import type { Compilation, Example, Theory } from './protocol';
import { Caller } from './rpc';

/** The scenario compiler, which is the Python package marqueue.scenario, in a worker. */
export class Compiler {
  private constructor(private readonly caller: Caller) {}

  /**
   * Loads Python; several megabytes, so call it after the first picture. `folder` has what `web/compiler/pack.mjs` makes,
   * by default in `compiler/` beside the page.
   */
  static async load(folder = new URL('compiler/', document.baseURI).href): Promise<Compiler> {
    const worker = new Worker(new URL('./compiler.worker.ts', import.meta.url), { type: 'module' });
    const caller = new Caller(worker);
    await caller.call('load', folder);
    return new Compiler(caller);
  }

  compile(toml: string): Promise<Compilation> {
    return this.caller.call<Compilation>('compile', toml);
  }

  /** The JSON Schema of scenario files. */
  schema(): Promise<object> {
    return this.caller.call<object>('schema');
  }

  examples(): Promise<Example[]> {
    return this.caller.call<Example[]>('examples');
  }

  /** A scenario as TOML, with the keys that differ from their defaults. */
  toToml(json: object): Promise<string> {
    return this.caller.call<string>('to_toml', json);
  }

  /** A Python program that runs a scenario. */
  toPython(json: object): Promise<string> {
    return this.caller.call<string>('to_python', json);
  }

  /** What theory says of a scenario that compiles. */
  theory(toml: string): Promise<Theory> {
    return this.caller.call<Theory>('theory', toml);
  }

  /**
   * For a map of stability: the largest real part of a root of the fluid model, 1/s, for each list of overrides such as
   * `topology.bottleneck.aqm.alpha=0.2`. Below zero it is stable; null where it has no equilibrium.
   */
  stability(toml: string, overrides: string[][]): Promise<(number | null)[]> {
    return this.caller.call<(number | null)[]>('stability', toml, overrides);
  }
}
