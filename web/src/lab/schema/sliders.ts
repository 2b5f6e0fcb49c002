// Sliders for the numbers of AQMs, links and traffic, made from the schema.

import { isTable, type Path, type Tree, valueAt } from './path';
import { parseQuantity, rounded } from './quantity';
import { aqmName, queuePlaces } from './queues';
import type { Field, Schema } from './schema';
import { fieldsFor } from './schema';

export interface Slider {
  id: string;
  group: string;
  label: string;
  hint: string;
  path: Path;
  /** The value now, in its unit; that of the default if `given` is false. */
  value: number;
  unit: string;
  given: boolean;
  whole: boolean;
  min: number;
  max: number;
  /** Steps multiply instead of adding. */
  log: boolean;
}

/** Positions of a slider. */
export const STEPS = 1000;

const QUEUE_KEYS = ['rate', 'delay', 'buffer'];
const TRAFFIC_KEYS = ['count', 'rate', 'size', 'packet', 'start', 'shape', 'scv'];

/** What a slider begins with where the default depends on other values. */
const BEGIN: Record<string, number> = { packets: 20, ms: 10, s: 0.1, 'Mbit/s': 10, '/s': 10, B: 1000 };

/** All sliders of a scenario. The range of each lies around its value in `anchor`, the scenario as it was opened. */
export function sliders(schema: Schema, tree: Tree, anchor: Tree): Slider[] {
  const found: (Slider | null)[] = [];
  const add = (group: string, path: Path, field?: Field | null) =>
    found.push(slider(group, path, field ?? schema.at(tree, path), tree, anchor));
  for (const place of queuePlaces(tree)) {
    for (const key of QUEUE_KEYS) add(`Link: ${place.name}`, [...place.path, key]);
    const path = [...place.path, 'aqm'];
    const aqm = schema.at(tree, path);
    const value = valueAt(tree, path) ?? 'droptail';
    for (const field of aqm ? fieldsFor(aqm, value) : []) add(`AQM: ${aqmName(tree, place)} at ${place.name}`, [...path, field.key], field);
  }
  const rtts = valueAt(tree, ['topology', 'rtts']);
  if (Array.isArray(rtts) && rtts.length <= 6) rtts.forEach((_, i) => {
    const field = schema.at(tree, ['topology', 'rtts']);
    add('Round-trip times', ['topology', 'rtts', i], field?.kind === 'list' ? { ...field.item, key: `class ${i + 1}`, hint: field.hint } : null);
  });
  if (Array.isArray(tree.traffic)) tree.traffic.forEach((table: unknown, i) => {
    const name = isTable(table) ? String(table.name ?? table.kind ?? i + 1) : String(i + 1);
    for (const key of TRAFFIC_KEYS) if (isTable(table) && key in table) add(`Traffic: ${name}`, ['traffic', i, key]);
  });
  return found.filter((each) => each !== null);
}

function slider(group: string, path: Path, field: Field | null, tree: Tree, anchor: Tree): Slider | null {
  if (field?.kind !== 'number' && field?.kind !== 'quantity') return null;
  const now = valueAt(tree, path);
  const given = now !== undefined;
  const value = numberOf(field, now ?? field.fallback);
  if (value === null) return null;
  const before = numberOf(field, valueAt(anchor, path) ?? field.fallback);
  const around = before !== null && before.unit === value.unit ? before.number : value.number;
  const limits = field.kind === 'number' ? field : { min: 0, max: Infinity };
  const whole = field.kind === 'number' ? field.whole : value.unit === 'packets';
  const log = around > 0 && !(limits.max <= 1 && around >= 0.05);
  const range = log
    ? { min: Math.max(around / 20, limits.min, whole ? 1 : 0), max: Math.min(around * 20, limits.max) }
    : { min: Math.max(0, limits.min), max: Number.isFinite(limits.max) && limits.max <= 100 ? limits.max : Math.max(10, 2 * around) };
  return {
    id: path.join('.'), group, label: field.key, hint: field.hint, path, value: value.number, unit: value.unit, given, whole, log,
    min: Math.min(range.min, value.number > 0 || !log ? value.number : range.min), max: Math.max(range.max, value.number),
  };
}

function numberOf(field: Field, value: unknown): { number: number; unit: string } | null {
  if (field.kind === 'number') {
    const number = typeof value === 'bigint' ? Number(value) : value;
    return typeof number === 'number' && Number.isFinite(number) ? { number, unit: '' } : null;
  }
  if (field.kind !== 'quantity') return null;
  const quantity = parseQuantity(value);
  if (quantity) return { number: quantity.number, unit: quantity.unit };
  const unit = field.units.find((each) => each in BEGIN);
  return value === undefined && unit ? { number: BEGIN[unit]!, unit } : null;
}

/** Where a value is on its slider. */
export function positionOf({ min, max, log, value }: Slider): number {
  if (max <= min) return 0;
  const share = log ? Math.log(Math.max(value, min) / min) / Math.log(max / min) : (value - min) / (max - min);
  return Math.round(STEPS * Math.min(1, Math.max(0, share)));
}

/** The value of a scenario at a position of its slider. */
export function valueOn(slider: Slider, position: number): unknown {
  const { min, max, log, whole, unit } = slider;
  const share = position / STEPS;
  const exact = log ? min * (max / min) ** share : min + (max - min) * share;
  const number = whole ? Math.round(exact) : Number(exact.toPrecision(3));
  return unit ? `${plain(number)} ${unit}` : number;
}

/** As scenario files write numbers: without thousands separators. */
function plain(value: number): string {
  return Number.isInteger(value) ? String(value) : rounded(value);
}
