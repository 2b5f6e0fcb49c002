import type { Scale, Series } from '../charts/model';

/** The data of a page as marqueue.reports.embedding writes them. */
export interface PageData {
  groups: Group[];
  grid: Grid | null;
}

export interface Group {
  charts: ChartData[];
  choices: Choice[];
}

export interface Choice {
  tag: string;
  label: string;
  values: string[];
  shown: string[];
}

export interface ChartData {
  title: string;
  xLabel: string;
  yLabel: string;
  kind: 'line' | 'step' | 'scatter';
  xScale: Scale;
  yScale: Scale;
  overTime: boolean;
  yFloor: number | null;
  /** The end of the run, for charts over time. */
  until: number | null;
  shadeUntil: number;
  cuts: number[];
  xNames: string[];
  /** The number of samples here and in the result, if some are left out. */
  thinned: [number, number] | null;
  series: Curve[];
}

export interface Curve {
  name: string;
  tags: Record<string, string>;
  x: Packed | Times;
  y: Packed;
  low?: Packed;
  high?: Packed;
  ghost?: boolean;
}

/** Numbers in base64, little-endian. */
export interface Packed {
  n: number;
  type: 'u1' | 'u2' | 'u4' | 'f4';
  data: string;
}

/** Times in nanoseconds: the first, a step, and the steps between them (each 1 if not given). */
export interface Times {
  n: number;
  first: number;
  step: number;
  gaps?: Packed;
}

/** The figures of a sweep. */
export interface Grid {
  axes: Axis[];
  figures: { title: string; better: 'less' | 'more' | null }[];
  points: Point[];
  /** Places of the two figures of the Pareto front, or null. */
  pareto: [number, number] | null;
}

export interface Axis {
  label: string;
  names: string[];
  /** The values as numbers, if they are, in this unit. */
  numbers: number[] | null;
  unit: string;
}

export interface Point {
  number: number;
  /** The place of its value on each axis. */
  at: number[];
  /** Of each figure the mean and the half width of its interval. */
  values: [number | null, number | null][];
}

/** The data of a page cannot be drawn. */
export class Corrupt extends Error {}

const SIZES = { u1: 1, u2: 2, u4: 4, f4: 4 };

/** Reads the block of data of a page. Throws Corrupt with what is wrong. */
export function readData(block: HTMLElement | null): PageData {
  const text = block?.textContent ?? '';
  if (!text) throw new Corrupt('there are none');
  const [found, expected] = [crc32(text), Number(block?.dataset.crc32)];
  if (found !== expected) throw new Corrupt(`their checksum is ${found}, expected ${expected}`);
  try {
    return JSON.parse(text) as PageData;
  } catch {
    throw new Corrupt('they are no JSON');
  }
}

/** The points of a curve. Throws Corrupt. */
export function points(curve: Curve): Pick<Series, 'x' | 'y' | 'low' | 'high'> {
  const x = 'step' in curve.x ? times(curve.x) : unpacked(curve.x);
  const y = unpacked(curve.y);
  const low = curve.low && unpacked(curve.low);
  const high = curve.high && unpacked(curve.high);
  for (const each of [y, low, high]) {
    if (each && each.length !== x.length) throw new Corrupt(`${each.length} values at ${x.length} places`);
  }
  return { x, y, ...(low && { low }), ...(high && { high }) };
}

function unpacked({ n, type, data }: Packed): Float64Array {
  const size = SIZES[type];
  if (!size) throw new Corrupt(`numbers of type ${String(type)}`);
  let bytes: Uint8Array;
  try {
    bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
  } catch {
    throw new Corrupt('they are no base64');
  }
  if (bytes.length !== n * size) throw new Corrupt(`${bytes.length} bytes for ${n} numbers`);
  const view = new DataView(bytes.buffer);
  const read = {
    u1: (i: number) => view.getUint8(i),
    u2: (i: number) => view.getUint16(2 * i, true),
    u4: (i: number) => view.getUint32(4 * i, true),
    // In as many digits as it has: 0.1 and not 0.10000000149.
    f4: (i: number) => Number(view.getFloat32(4 * i, true).toPrecision(7)),
  }[type];
  return Float64Array.from({ length: n }, (_, i) => read(i));
}

function times({ n, first, step, gaps }: Times): Float64Array {
  const steps = gaps ? unpacked(gaps) : null;
  if (steps && steps.length !== Math.max(0, n - 1)) throw new Corrupt(`${steps.length} gaps between ${n} times`);
  const out = new Float64Array(n);
  let now = first;
  for (let i = 0; i < n; i++) {
    if (i) now += step * (steps ? steps[i - 1]! : 1);
    out[i] = now / 1e9;
  }
  return out;
}

/** CRC-32 (IEEE 802.3) of ASCII text, as zlib computes it. */
export function crc32(text: string): number {
  let crc = -1;
  for (let i = 0; i < text.length; i++) crc = CRC_TABLE[(crc ^ text.charCodeAt(i)) & 255]! ^ (crc >>> 8);
  return (crc ^ -1) >>> 0;
}

const CRC_TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});
