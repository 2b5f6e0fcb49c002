// Hands the engine to tests.
import { Compiler } from '../../src/engine/compiler';
import { Simulation } from '../../src/engine/simulation';

const engine = { Compiler, Simulation };
declare global {
  interface Window {
    engine: typeof engine;
  }
}
window.engine = engine;
