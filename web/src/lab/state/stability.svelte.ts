import { type Slider, STEPS, valueOn } from '../schema/sliders';
import type { ScenarioDocument } from './document.svelte';

/** Cells along each axis. */
export const CELLS = 15;

/** One place of the map. `root`: the largest real part of a characteristic root, 1/s; null outside the model. */
export interface Cell { x: number; y: number; root: number | null }

/** The stability of a scenario over two of its parameters, a row at a time. */
export class StabilityGrid {
  cells = $state.raw<Cell[]>([]);
  working = $state(false);
  private generation = 0;

  constructor(private readonly document: ScenarioDocument) {}

  /** Position of the middle of a cell on the axis of a slider. */
  static middle(cell: number): number {
    return Math.round((STEPS * (cell + 0.5)) / CELLS);
  }

  /** Solves all cells anew. Other calls of the compiler come between. */
  async solve(x: Slider, y: Slider): Promise<void> {
    const generation = ++this.generation;
    const { text } = this.document;
    this.cells = [];
    this.working = true;
    const compiler = await this.document.load();
    for (const j of coarseFirst()) {
      const rows = Array.from({ length: CELLS }, (_, i) => [override(x, i), override(y, j)]);
      let roots: (number | null)[];
      try {
        roots = await compiler.stability(text, rows);
      } catch {
        // A value that no scenario can have, or one outside the model: the row stays empty.
        roots = rows.map(() => null);
      }
      if (generation !== this.generation) return;
      this.cells = [...this.cells, ...roots.map((root, i) => ({ x: i, y: j, root }))];
    }
    this.working = false;
  }

  stop(): void {
    this.generation += 1;
    this.working = false;
  }
}

function override(slider: Slider, cell: number): string {
  return `${slider.path.join('.')}=${String(valueOn(slider, StabilityGrid.middle(cell)))}`;
}

/** The rows, every third before those between: the map shows its shape early. */
function coarseFirst(): number[] {
  const all = Array.from({ length: CELLS }, (_, j) => j);
  return [...all.filter((j) => j % 3 === 1), ...all.filter((j) => j % 3 !== 1)];
}
