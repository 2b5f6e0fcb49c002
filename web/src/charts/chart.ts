import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import './charts.css';
import { button, element, Legend, toggle } from './controls';
import { fileName, savePng, saveText } from './download';
import { act } from './keyboard';
import { link, tell, unlink } from './linked';
import type { ChartOptions, Limits, Scale, Series } from './model';
import { type Look, looks, type Palette, paletteOf } from './palette';
import { pinch, pointers, wheel } from './pointers';
import { toSvg, WIDTH } from './svg';
import { column, csv, join, placeOf, sorted, type Table } from './table';
import { onTheme } from './theme';
import { labelWidth, shown, tickLabels, ticks } from './ticks';
import { behind, nearest, uplotSeries } from './uplot_parts';
import { part, place, View } from './view';

const HEIGHT = 240;
const KEYS =
  'Arrow keys: read values. Shift and arrow keys: move the range. + and −: zoom. 0: show everything.';

/** A chart of series with everything a reader does to it: see README.md of this folder. */
export class Chart {
  private readonly root = element('div', 'mq-chart', '', { role: 'group' });
  private readonly title = element('div', 'mq-title');
  private readonly plot = element('div', 'mq-plot', '', { tabindex: '0', role: 'group' });
  private readonly readout = element('p', 'mq-readout');
  private readonly spoken = element('p', 'mq-spoken', '', { 'aria-live': 'polite' });
  private readonly empty = element('p', 'mq-empty', 'No series is shown.');
  private readonly legend = new Legend((index, alone) => this.choose(index, alone));
  private readonly logs: { x: HTMLButtonElement; y: HTMLButtonElement };
  private readonly view = new View();
  private readonly hidden = new Set<string>();
  private readonly resized: ResizeObserver;
  private readonly leaveTheme: () => void;
  private options: ChartOptions;
  private given: Series[] = [];
  private series: Series[] = [];
  private table: Table = { x: new Float64Array(), rows: [] };
  private looks: Look[] = [];
  private palette: Palette;
  private uplot: uPlot | null = null;
  private built = '';

  constructor(host: HTMLElement, options: ChartOptions, series: Series[] = []) {
    this.options = { ...options };
    this.logs = {
      x: toggle('log x', 'Logarithmic horizontal axis', () => this.setOptions({ xScale: other(this.options.xScale) })),
      y: toggle('log y', 'Logarithmic vertical axis', () => this.setOptions({ yScale: other(this.options.yScale) })),
    };
    const head = element('div', 'mq-head');
    head.append(this.title, this.tools());
    this.root.append(head, this.legend.root, this.plot, this.readout, this.spoken);
    host.append(this.root);
    this.palette = paletteOf(this.root);
    this.plot.addEventListener('keydown', (event) => this.key(event));
    this.resized = new ResizeObserver(() => this.uplot?.setSize(this.size()));
    this.resized.observe(this.plot);
    this.leaveTheme = onTheme(() => this.build());
    if (options.syncKey) link(options.syncKey, this);
    this.setSeries(series);
  }

  /** Shows these series. What the reader has zoomed to or hidden stays. */
  setSeries(series: Series[]): void {
    this.given = series;
    this.series = series.map((each) => sorted(each, this.options.xScale ?? 'linear'));
    this.table = join(this.series);
    if (this.structure() !== this.built) this.build();
    else {
      this.uplot?.setData(this.data(), false);
      this.range();
    }
  }

  setOptions(changed: Partial<ChartOptions>): void {
    const before = this.options.syncKey;
    this.options = { ...this.options, ...changed };
    const { syncKey } = this.options;
    if (syncKey !== before) {
      if (before) unlink(before, this);
      if (syncKey) link(syncKey, this);
    }
    if ('xScale' in changed || 'xNames' in changed) this.view.x = null;
    if ('yScale' in changed) this.view.y = null;
    this.built = '';
    this.setSeries(this.given);
  }

  destroy(): void {
    if (this.options.syncKey) unlink(this.options.syncKey, this);
    this.leaveTheme();
    this.resized.disconnect();
    this.uplot?.destroy();
    this.root.remove();
  }

  /** Shows these ranges (null: all) here, and that of x in linked charts. */
  zoom(x: Limits | null, y: Limits | null): void {
    this.view.x = x;
    this.view.y = y;
    this.range();
    if (this.options.syncKey) tell(this.options.syncKey, this, x);
  }

  follow(x: Limits | null): void {
    this.view.x = x;
    if (!x) this.view.y = null;
    this.range();
  }

  /** Shows a part of what is seen now; 0 is its left end and 1 its right end. */
  zoomTo(from: number, to: number): void {
    this.zoom(this.within(from, to), this.view.y);
  }

  /** Moves the range of x by a share of what is seen, at most to the ends of the series. */
  pan(share: number): void {
    const scale = this.options.xScale ?? 'linear';
    const all = new View().limits(this.seen(), this.options).x;
    const now = this.limits().x;
    const [left, right] = [place(all.min, now, scale), place(all.max, now, scale)];
    const step = share < 0 ? Math.max(share, Math.min(0, left)) : Math.min(share, Math.max(0, right - 1));
    if (step) this.zoomTo(step, 1 + step);
  }

  private tools(): HTMLElement {
    const tools = element('div', 'mq-tools', '', { role: 'toolbar', 'aria-label': 'Chart' });
    const name = (ending: string) => fileName(this.options.title, ending);
    tools.append(
      button('+', 'Zoom in', () => this.zoomTo(0.25, 0.75)),
      button('−', 'Zoom out', () => this.zoomOut()),
      button('all', 'Show everything', () => this.zoom(null, null)),
      this.logs.x,
      this.logs.y,
      button('SVG', 'Download as SVG', () => saveText(name('svg'), this.svg().svg, 'image/svg+xml')),
      button('PNG', 'Download as PNG', () => {
        const { svg, height } = this.svg();
        void savePng(name('png'), svg, WIDTH, height);
      }),
      button('CSV', 'Download the values as CSV', () => saveText(name('csv'), this.csv(), 'text/csv')),
    );
    return tools;
  }

  /** Twice the range of x, at most all. */
  zoomOut(): void {
    this.zoom(this.within(-0.5, 1.5), null);
  }

  /** From one share of the seen range of x to another, at most to the ends of the series; null for all of them. */
  private within(from: number, to: number): { min: number; max: number } | null {
    const all = new View().limits(this.seen(), this.options).x;
    const wide = part(this.limits().x, this.options.xScale ?? 'linear', from, to);
    if (wide.min <= all.min && wide.max >= all.max) return null;
    return { min: Math.max(wide.min, all.min), max: Math.min(wide.max, all.max) };
  }

  /** The picture as an SVG document. */
  svg(): { svg: string; height: number } {
    const shownOnes = this.series.flatMap((series, i) => (this.hidden.has(series.id) ? [] : [{ series, look: this.looks[i]! }]));
    return toSvg({
      series: shownOnes.map((each) => each.series),
      looks: shownOnes.map((each) => each.look),
      options: this.options,
      limits: this.limits(),
      palette: this.palette,
    });
  }

  /** The values of all series that are shown, over the whole of x. */
  csv(): string {
    return csv(this.seen(), this.options);
  }

  private choose(index: number, alone: boolean): void {
    const { id } = this.series[index]!;
    const others = this.series.map((each) => each.id).filter((each) => each !== id);
    if (alone) {
      const already = !this.hidden.has(id) && others.every((each) => this.hidden.has(each));
      this.hidden.clear();
      if (!already) others.forEach((each) => this.hidden.add(each));
    } else if (!this.hidden.delete(id)) this.hidden.add(id);
    this.legend.pressed(this.series, this.hidden);
    this.series.forEach((each, i) => this.uplot?.setSeries(i + 1, { show: !this.hidden.has(each.id) }, false));
    this.range();
  }

  private seen(): Series[] {
    return this.series.filter((each) => !this.hidden.has(each.id));
  }

  private limits(): { x: Limits; y: Limits } {
    return this.view.limits(this.seen(), this.options);
  }

  private range(): void {
    const { x, y } = this.limits();
    this.plot.dataset.range = `${shown(x.min)} to ${shown(x.max)}`;
    this.empty.hidden = this.seen().some((each) => each.x.length > 0);
    this.uplot?.batch(() => {
      this.uplot!.setScale('x', x);
      this.uplot!.setScale('y', y);
    });
  }

  private size(): { width: number; height: number } {
    return { width: Math.max(200, this.plot.clientWidth), height: this.height() };
  }

  private height(): number {
    return this.options.height ?? HEIGHT;
  }

  private data(): uPlot.AlignedData {
    const scale = this.options.yScale ?? 'linear';
    return [this.table.x, ...this.series.map((each, s) => column(this.table, s, each.y, scale))];
  }

  /** What a drawn chart cannot change: its series and axes. */
  private structure(): string {
    return JSON.stringify(this.series.map(({ id, label, group, ghost }) => [id, label, group, ghost]));
  }

  private build(): void {
    this.uplot?.destroy();
    this.palette = paletteOf(this.root);
    this.looks = looks(this.series, this.palette);
    const { title, xScale, yScale, xNames, kind } = this.options;
    this.title.textContent = title;
    this.root.setAttribute('aria-label', title);
    this.plot.setAttribute('aria-label', `${title}. ${KEYS}`);
    this.plot.title = '';
    this.logs.x.setAttribute('aria-pressed', String(xScale === 'log'));
    this.logs.y.setAttribute('aria-pressed', String(yScale === 'log'));
    this.logs.x.hidden = Boolean(xNames) || (kind !== 'scatter' && xScale !== 'log');
    this.legend.show(this.series, this.looks, this.hidden);
    this.readout.textContent = '';
    this.plot.style.minHeight = `${this.height()}px`;
    // An empty plot is not worth its time: measuring its place lays out the page.
    this.uplot = this.series.length > 0 ? new uPlot(this.uplotOptions(), this.data(), this.plot) : null;
    this.plot.append(this.empty);
    this.built = this.structure();
    this.range();
  }

  private uplotOptions(): uPlot.Options {
    const { kind, syncKey, xScale = 'linear', yScale = 'linear' } = this.options;
    const scatter = kind === 'scatter';
    return {
      ...this.size(),
      legend: { show: false },
      padding: [8, 14, 0, 0],
      scales: {
        x: { time: false, distr: distribution(xScale), range: () => this.both('x') },
        y: { distr: distribution(yScale), range: () => this.both('y') },
      },
      axes: [this.axis('x', xScale), this.axis('y', yScale)],
      series: [{}, ...uplotSeries(this.series, this.looks, kind, this.hidden)],
      cursor: {
        y: false,
        points: { size: 8 },
        drag: { x: true, y: true, uni: 40, dist: 4, setScale: false },
        bind: pointers(this),
        ...(scatter && { x: false, dataIdx: (u: uPlot, s: number) => this.pointAt(u, s) }),
        ...(syncKey && {
          sync: {
            key: syncKey,
            scales: ['x', null],
            setSeries: false,
            // The range is linked in linked.ts, for the wheel and for keys too.
            filters: { pub: (type: string) => type === 'mousemove' || type === 'mouseleave' },
          },
        }),
      },
      hooks: {
        ready: [
          (u) => u.over.addEventListener('wheel', (event) => wheel(u, event, this), { passive: false }),
          (u) => pinch(u, this),
        ],
        drawAxes: [(u) => behind(u, this.series, this.looks, this.options, this.palette, this.hidden)],
        setCursor: [(u) => this.point(u)],
        setSelect: [(u) => this.select(u)],
      },
    };
  }

  private both(axis: 'x' | 'y'): [number, number] {
    const { min, max } = this.limits()[axis];
    return [min, max];
  }

  private axis(key: 'x' | 'y', scale: Scale): uPlot.Axis {
    const { xLabel, yLabel, xNames } = this.options;
    const x = key === 'x';
    const names = x ? xNames : undefined;
    return {
      label: x ? xLabel : yLabel,
      labelSize: 22,
      labelFont: '13px system-ui, "DejaVu Sans", sans-serif',
      font: '12px system-ui, "DejaVu Sans", sans-serif',
      size: x ? 34 : (_u, labels) => Math.max(54, 16 + labelWidth(labels ?? [])),
      stroke: this.palette.soft,
      grid: { stroke: this.palette.rule, width: 1 },
      ticks: { stroke: this.palette.rule, width: 1, size: 4 },
      splits: (u, _axis, min, max) => {
        if (names) return [...names.keys()].filter((i) => i >= min && i <= max);
        const length = (x ? u.bbox.width : u.bbox.height) / devicePixelRatio;
        return ticks({ min, max }, scale, Math.max(2, Math.floor(length / (x ? 64 : 40))));
      },
      filter: (_u, splits) => splits,
      values: (_u, splits) => (names ? splits.map((i) => names[i] ?? '') : tickLabels(splits)),
    };
  }

  /** The row of the point of series s under the pointer, if it is the nearest of all. */
  private pointAt(u: uPlot, s: number): number | null {
    const found = nearest(u, this.series, this.table, this.hidden);
    return found && found.series === s - 1 ? found.row : null;
  }

  /** Shows the values at the pointer. */
  private point(u: uPlot): void {
    const { idxs } = u.cursor;
    const rows = this.series.map((_, s) => idxs?.[s + 1] ?? null);
    const any = rows.find((row) => row !== null);
    const inside = (u.cursor.left ?? -1) >= 0 && any !== undefined;
    this.legend.at(inside ? this.series.map((_, s) => this.valueAt(u, s)) : null);
    this.readout.textContent = inside ? this.where(u, rows, any!) : '';
  }

  /** The place at the pointer in words: x, and for points which one and its y. */
  private where(u: uPlot, rows: readonly (number | null)[], any: number): string {
    const { xLabel, yLabel, xNames, kind } = this.options;
    const x = (row: number) => xNames?.[Math.round(this.table.x[row]!)] ?? shown(this.table.x[row]);
    const s = rows.findIndex((row) => row !== null);
    if (kind !== 'scatter' || s < 0) return `${xLabel}: ${x(any)}`;
    const found = placeOf(this.table, s, rows[s]!);
    const { names, label } = this.series[s]!;
    return `${names?.[found] ?? label}. ${xLabel}: ${x(rows[s]!)}; ${yLabel}: ${this.valueAt(u, s)}`;
  }

  private select(u: uPlot): void {
    const { left, top, width, height } = u.select;
    if (width <= 0 && height <= 0) return;
    const { x, y } = this.limits();
    const [w, h] = [u.over.clientWidth, u.over.clientHeight];
    const { xScale = 'linear', yScale = 'linear' } = this.options;
    const wide = width > 4 && width < w - 1;
    const high = height > 4 && height < h - 1;
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.zoom(
      wide ? part(x, xScale, left / w, (left + width) / w) : this.view.x,
      high ? part(y, yScale, 1 - (top + height) / h, 1 - top / h) : this.view.y,
    );
  }

  private key(event: KeyboardEvent): void {
    if (event.target !== this.plot || !act(event, this)) return;
    event.preventDefault();
  }

  /** Moves the pointer to the next sample that is a visible distance away. */
  step(direction: 1 | -1): void {
    const u = this.uplot;
    if (!u || !this.table.x.length) return;
    const { x } = this.limits();
    const scatter = this.options.kind === 'scatter';
    const scale = this.options.xScale ?? 'linear';
    const now = u.cursor.left !== undefined && u.cursor.left >= 0 ? u.cursor.left / u.over.clientWidth : direction > 0 ? -1 : 2;
    const least = now < 0 || now > 1 || scatter ? 1e-6 : 0.01;
    const rows = [...this.table.x.keys()].filter((row) => {
      const at = place(this.table.x[row]!, x, scale);
      return at >= -1e-9 && at <= 1 + 1e-9 && (at - now) * direction >= least;
    });
    const row = direction > 0 ? rows[0] : rows.at(-1);
    if (row === undefined) return;
    const s = this.series.findIndex((each, i) => !this.hidden.has(each.id) && placeOf(this.table, i, row) >= 0);
    const y = s < 0 ? 0 : this.series[s]!.y[placeOf(this.table, s, row)]!;
    u.setCursor({ left: Math.max(0, u.valToPos(this.table.x[row]!, 'x')), top: u.valToPos(y, 'y') });
    const values = this.series.map((each, i) => `${each.label} ${this.valueAt(u, i)}`);
    this.spoken.textContent = scatter ? this.readout.textContent : `${this.readout.textContent}. ${values.join('; ')}`;
  }

  /** The value of a series at the pointer, with its interval. */
  private valueAt(u: uPlot, s: number): string {
    const row = u.cursor.idxs?.[s + 1];
    if (row === null || row === undefined) return shown(undefined);
    const at = placeOf(this.table, s, row);
    const { y, low, high } = this.series[s]!;
    return low && high ? `${shown(y[at])} (${shown(low[at])} to ${shown(high[at])})` : shown(y[at]);
  }
}

const other = (scale: Scale | undefined): Scale => (scale === 'log' ? 'linear' : 'log');
const distribution = (scale: Scale) => (scale === 'log' ? 3 : 1) as uPlot.Scale.Distr;
