import { Chart } from '../charts/chart';
import { element } from '../charts/controls';
import { HeatMap } from '../charts/heatmap';
import type { Series } from '../charts/model';
import { paretoFront } from '../charts/pareto';
import { choose } from './choices';
import { type Axis, Corrupt, type Grid, type Point } from './data';

const NAN = Number.NaN;

/** Draws a sweep: any figure over any setting or figure, as a heat map, and the Pareto front. */
export function drawGrid(host: HTMLElement, grid: Grid): void {
  check(grid);
  section(host, 'Over the swept values', (place) => new OverSettings(place, grid));
  if (grid.axes.filter((axis) => axis.names.length > 1).length > 1) {
    section(host, 'Heat map', (place) => new Heat(place, grid));
  }
  if (grid.figures.length > 1) section(host, 'One figure against another', (place) => new Against(place, grid));
}

function check({ axes, figures, points }: Grid): void {
  for (const { number, at, values } of points) {
    const fits = at.length === axes.length && values.length === figures.length;
    if (!fits || at.some((place, i) => !(place in axes[i]!.names))) throw new Corrupt(`point ${number} is not in the grid`);
  }
}

function section(host: HTMLElement, title: string, draw: (place: HTMLElement) => unknown): void {
  const place = element('div');
  host.append(element('h3', '', title), place);
  draw(place);
}

/** The points of a sweep at which every other axis has its chosen value; −1: any. */
function at(grid: Grid, fixed: readonly number[]): Point[] {
  return grid.points.filter((point) => fixed.every((value, i) => value < 0 || point.at[i] === value));
}

const axisLabel = ({ label, unit }: Axis) => (unit ? `${label} [${unit}]` : label);
const valueOf = (point: Point, figure: number) => point.values[figure]![0] ?? NAN;
const lowOf = (point: Point, figure: number) => valueOf(point, figure) - (point.values[figure]![1] ?? 0);
const highOf = (point: Point, figure: number) => valueOf(point, figure) + (point.values[figure]![1] ?? 0);
const numbers = (points: readonly Point[], of: (point: Point) => number) => Float64Array.from(points, of);
const settings = (grid: Grid, point: Point) =>
  grid.axes.map((axis, i) => `${axis.label} = ${axis.names[point.at[i]!]}`).join(', ');
const figureTitles = (grid: Grid) => grid.figures.map(({ title }) => title);

/** Lists for the values of the axes that a picture does not have. */
function others(grid: Grid, used: readonly number[], fixed: number[], changed: () => void): HTMLElement[] {
  return grid.axes.flatMap((axis, i) => {
    if (used.includes(i) || axis.names.length < 2) return [];
    return [choose(axis.label, axis.names, fixed[i]!, (value) => ((fixed[i] = value), changed()))];
  });
}

/** A figure over an axis, with a curve for each value of another. */
class OverSettings {
  private readonly controls = element('div', 'choices');
  private readonly place = element('div');
  private chart: Chart | null = null;
  private x = 0;
  private by: number;
  private figure = 0;
  private readonly fixed: number[];

  constructor(host: HTMLElement, private readonly grid: Grid) {
    this.by = grid.axes.findIndex((axis, i) => i !== 0 && axis.names.length > 1);
    this.fixed = grid.axes.map(() => 0);
    host.append(this.controls, this.place);
    this.offer();
    this.draw();
  }

  private offer(): void {
    const { grid } = this;
    const axes = grid.axes.map((axis) => axis.label);
    const again = () => {
      this.offer();
      this.draw();
    };
    const focused = this.controls.contains(document.activeElement) ? [...this.controls.querySelectorAll('select')].indexOf(document.activeElement as HTMLSelectElement) : -1;
    this.controls.replaceChildren(
      choose('Vertical', figureTitles(grid), this.figure, (i) => ((this.figure = i), this.draw())),
      choose('Horizontal', axes, this.x, (i) => {
        if (this.by === i) this.by = this.x === i ? -1 : this.x;
        this.x = i;
        again();
      }),
      ...(axes.length > 1
        ? [
            choose('A curve for each', ['(none)', ...axes], this.by + 1, (i) => {
              this.by = i - 1 === this.x ? -1 : i - 1;
              again();
            }),
          ]
        : []),
      ...others(grid, [this.x, this.by], this.fixed, () => this.draw()),
    );
    this.controls.querySelectorAll('select')[focused]?.focus();
  }

  private draw(): void {
    const { grid, figure } = this;
    const axis = grid.axes[this.x]!;
    const { title } = grid.figures[figure]!;
    const fixed = this.fixed.map((value, i) => (i === this.x || i === this.by ? -1 : value));
    const groups = this.by < 0 ? [''] : grid.axes[this.by]!.names;
    const numeric = axis.numbers !== null;
    const series = groups.flatMap((name, g): Series[] => {
      const points = at(grid, fixed.map((value, i) => (i === this.by ? g : value)));
      if (!points.length) return [];
      const beside = numeric ? 0 : 0.4 * ((g + 0.5) / groups.length - 0.5);
      return [
        {
          id: `${this.by} ${name}`,
          label: this.by < 0 ? title : `${grid.axes[this.by]!.label} = ${name}`,
          x: numbers(points, (point) => (axis.numbers ? axis.numbers[point.at[this.x]!]! : point.at[this.x]! + beside)),
          y: numbers(points, (point) => valueOf(point, figure)),
          low: numbers(points, (point) => lowOf(point, figure)),
          high: numbers(points, (point) => highOf(point, figure)),
          names: points.map((point) => settings(grid, point)),
          joined: numeric,
        },
      ];
    });
    this.chart?.destroy();
    this.chart = new Chart(this.place, {
      title: `${title} over ${axis.label}`,
      xLabel: axisLabel(axis),
      yLabel: title,
      kind: 'scatter',
      height: 320,
      ...(!numeric && { xNames: axis.names }),
    });
    this.chart.setSeries(series);
  }
}

/** A figure for each pair of values of two axes. */
class Heat {
  private readonly controls = element('div', 'choices');
  private readonly map: HeatMap;
  private readonly fixed: number[];
  private x: number;
  private y: number;
  private figure = 0;

  constructor(host: HTMLElement, private readonly grid: Grid) {
    const several = grid.axes.flatMap((axis, i) => (axis.names.length > 1 ? [i] : []));
    [this.x, this.y] = [several[0]!, several[1]!];
    this.fixed = grid.axes.map(() => 0);
    host.append(this.controls);
    this.map = new HeatMap(host, this.heat());
    this.offer();
  }

  private offer(): void {
    const axes = this.grid.axes.map((axis) => axis.label);
    const again = () => {
      this.offer();
      this.map.setHeat(this.heat());
    };
    this.controls.replaceChildren(
      choose('Colour', figureTitles(this.grid), this.figure, (i) => ((this.figure = i), this.map.setHeat(this.heat()))),
      choose('Horizontal', axes, this.x, (i) => {
        if (i === this.y) this.y = this.x;
        this.x = i;
        again();
      }),
      choose('Vertical', axes, this.y, (i) => {
        if (i === this.x) this.x = this.y;
        this.y = i;
        again();
      }),
      ...others(this.grid, [this.x, this.y], this.fixed, () => this.map.setHeat(this.heat())),
    );
  }

  private heat() {
    const { grid, x, y, figure } = this;
    const [across, up] = [grid.axes[x]!, grid.axes[y]!];
    const values = up.names.map((_, row) =>
      across.names.map((_, column) => {
        const fixed = this.fixed.map((value, i) => (i === x ? column : i === y ? row : value));
        return at(grid, fixed)[0]?.values[figure]![0] ?? null;
      }),
    );
    const { title } = grid.figures[figure]!;
    return { title, xLabel: across.label, yLabel: up.label, valueLabel: title, xNames: across.names, yNames: up.names, values };
  }
}

/** Two figures of all points, and the points that no other beats in both. */
class Against {
  private readonly controls = element('div', 'choices');
  private readonly place = element('div');
  private readonly about = element('p', 'caption');
  private chart: Chart | null = null;
  private x: number;
  private y: number;
  private by: number;

  constructor(host: HTMLElement, private readonly grid: Grid) {
    [this.x, this.y] = grid.pareto ?? [0, 1];
    // Colours for the last axis: the one that changes fastest, often the AQM.
    this.by = grid.axes.length - 1;
    host.append(this.controls, this.place, this.about);
    const titles = figureTitles(grid);
    this.controls.append(
      choose('Horizontal', titles, this.x, (i) => ((this.x = i), this.draw())),
      choose('Vertical', titles, this.y, (i) => ((this.y = i), this.draw())),
      choose('A colour for each', grid.axes.map((axis) => axis.label), this.by, (i) => ((this.by = i), this.draw())),
    );
    this.draw();
  }

  private draw(): void {
    const { grid, x, y, by } = this;
    const axis = grid.axes[by]!;
    const of = (points: readonly Point[]) => ({
      x: numbers(points, (point) => valueOf(point, x)),
      y: numbers(points, (point) => valueOf(point, y)),
      names: points.map((point) => settings(grid, point)),
    });
    const series = axis.names.map((name, value): Series => {
      const points = grid.points.filter((point) => point.at[by] === value);
      return {
        id: name,
        label: `${axis.label} = ${name}`,
        ...of(points),
        low: numbers(points, (point) => lowOf(point, y)),
        high: numbers(points, (point) => highOf(point, y)),
      };
    });
    const [first, second] = [grid.figures[x]!, grid.figures[y]!];
    if (x !== y && first.better && second.better) {
      const all = of(grid.points);
      const front = paretoFront(all.x, all.y, first.better, second.better).map((i) => grid.points[i]!);
      const label = 'Pareto front';
      if (front.length) series.push({ id: 'front', label, ...of(front), joined: true, ghost: true, group: 'front' });
      this.about.textContent =
        'The Pareto front joins the points that no other point beats in both figures: ' +
        `${first.better} ${first.title} and ${second.better} ${second.title} are better.`;
    } else this.about.textContent = '';
    this.chart?.destroy();
    this.chart = new Chart(this.place, {
      title: `${second.title} against ${first.title}`,
      xLabel: first.title,
      yLabel: second.title,
      kind: 'scatter',
      height: 360,
    });
    this.chart.setSeries(series);
  }
}
