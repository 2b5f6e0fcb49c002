import type { ChartOptions, Limits, Scale, Series } from './model';

/**
 * All series over one x: `rows[s][i]` is the place in series s of the table's row i, or −1.
 * Series are sorted by x before.
 */
export interface Table {
  x: Float64Array;
  rows: (Int32Array | null)[]; // null: the same places
}

export function join(all: readonly Series[]): Table {
  const first = all[0]?.x ?? new Float64Array();
  if (all.every((series) => same(series.x, first))) return { x: first, rows: all.map(() => null) };
  const places = all.map(() => 0);
  const x: number[] = [];
  const rows: number[][] = all.map(() => []);
  for (;;) {
    let next = Infinity;
    all.forEach((series, s) => {
      const place = places[s]!;
      if (place < series.x.length) next = Math.min(next, series.x[place]!);
    });
    if (next === Infinity) break;
    x.push(next);
    all.forEach((series, s) => {
      const place = places[s]!;
      const here = place < series.x.length && series.x[place] === next;
      rows[s]!.push(here ? place : -1);
      if (here) places[s] = place + 1;
    });
  }
  return { x: Float64Array.from(x), rows: rows.map((row) => Int32Array.from(row)) };
}

function same(a: Float64Array, b: Float64Array): boolean {
  return a === b || (a.length === b.length && a.every((value, i) => value === b[i]));
}

/** The place in series s of a row of the table, or −1. */
export function placeOf(table: Table, s: number, row: number): number {
  const rows = table.rows[s];
  return rows ? rows[row] ?? -1 : row;
}

/** Values of series s by row: undefined where it has no sample, null where there is a gap. */
export function column(table: Table, s: number, values: Float64Array, scale: Scale): (number | null | undefined)[] {
  const out = new Array<number | null | undefined>(table.x.length);
  for (let row = 0; row < out.length; row++) {
    const place = placeOf(table, s, row);
    out[row] = place < 0 ? undefined : drawable(values[place]!, scale) ? values[place]! : null;
  }
  return out;
}

/** Whether a value has a place on the axis: a logarithm needs a positive number. */
export function drawable(value: number, scale: Scale): boolean {
  return Number.isFinite(value) && (scale === 'linear' || value > 0);
}

/** A series with finite ascending x. */
export function sorted(series: Series, scale: Scale): Series {
  const { x } = series;
  let order = true;
  for (let i = 0; i < x.length && order; i++) order = drawable(x[i]!, scale) && (i === 0 || x[i]! >= x[i - 1]!);
  if (order) return series;
  const places = Array.from(x.keys()).filter((i) => drawable(x[i]!, scale)).sort((a, b) => x[a]! - x[b]!);
  const taken = (values: Float64Array) => Float64Array.from(places, (i) => values[i]!);
  return {
    ...series,
    x: taken(x),
    y: taken(series.y),
    ...(series.low && { low: taken(series.low) }),
    ...(series.high && { high: taken(series.high) }),
    ...(series.names && { names: places.map((i) => series.names![i] ?? '') }),
  };
}

/** The range of x of all series, or null without any point. */
export function extentX(all: readonly Series[]): Limits | null {
  let [min, max] = [Infinity, -Infinity];
  for (const { x } of all) {
    if (!x.length) continue;
    min = Math.min(min, x[0]!);
    max = Math.max(max, x[x.length - 1]!);
  }
  return min <= max ? { min, max } : null;
}

/** A band widens the range of the curves by at most this share on each side: one of few replications would flatten them. */
const BAND_SHARE = 0.5;

/** The range of y of what is seen in this range of x, with bars (scatter) and, up to {@link BAND_SHARE}, bands. */
export function extentY(all: readonly Series[], seen: Limits, scale: Scale, bars: boolean): Limits | null {
  const curves = { min: Infinity, max: -Infinity };
  const ends = { min: Infinity, max: -Infinity };
  const take = (range: Limits, value: number | undefined) => {
    if (value === undefined || !drawable(value, scale)) return;
    if (value < range.min) range.min = value;
    if (value > range.max) range.max = value;
  };
  for (const series of all) {
    for (let i = 0; i < series.x.length; i++) {
      // One sample beyond each side: the line to it is seen.
      const next = series.x[i + 1] ?? series.x[i]!;
      const before = series.x[i - 1] ?? series.x[i]!;
      if (next < seen.min || before > seen.max) continue;
      take(curves, series.y[i]);
      take(ends, series.low?.[i]);
      take(ends, series.high?.[i]);
    }
  }
  const { min, max } = curves;
  const room = bars || scale === 'log' || max <= min ? Infinity : BAND_SHARE * (max - min);
  const found = { min: Math.min(min, Math.max(ends.min, min - room)), max: Math.max(max, Math.min(ends.max, max + room)) };
  return found.min <= found.max ? found : null;
}

/** The table as CSV (RFC 4180), a remark in front. */
export function csv(all: readonly Series[], options: ChartOptions): string {
  const table = join(all);
  const heads = [options.xLabel];
  const columns: ((row: number) => string)[] = [
    (row) => options.xNames?.[table.x[row]!] ?? String(table.x[row]),
  ];
  const add = (head: string, cell: (place: number) => string, s: number) => {
    heads.push(head);
    columns.push((row) => {
      const place = placeOf(table, s, row);
      return place < 0 ? '' : cell(place);
    });
  };
  const numbers = (values: Float64Array) => (place: number) =>
    Number.isFinite(values[place]!) ? String(values[place]) : '';
  all.forEach((series, s) => {
    if (series.names) add(`${series.label}: which`, (place) => series.names![place] ?? '', s);
    add(`${series.label}: ${options.yLabel}`, numbers(series.y), s);
    if (series.low) add(`${series.label}: low`, numbers(series.low), s);
    if (series.high) add(`${series.label}: high`, numbers(series.high), s);
  });
  const lines = options.note ? [`# ${options.note.replaceAll(/\s+/g, ' ')}`] : [];
  lines.push(heads.map(cell).join(','));
  for (let row = 0; row < table.x.length; row++) lines.push(columns.map((of) => cell(of(row))).join(','));
  return lines.join('\r\n') + '\r\n';
}

function cell(text: string): string {
  // A name that begins like a formula must not become one in a spreadsheet.
  const safe = /^[=+@\t\r]|^-(?![\d.])/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
