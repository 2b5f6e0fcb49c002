// What the charts of the lab show: for a link, its queue and what its AQM computes; for flows, windows and rates.

import type { ChartOptions, Series } from '../../charts/model';
import type { Theory } from '../../engine/protocol';
import type { Run } from './run.svelte';

export interface Picture {
  id: string;
  /** On the button that shows it. */
  name: string;
  options: ChartOptions;
  series: Series[];
}

/** Flows whose windows and rates are drawn: as many as there are colours. */
const FLOWS = 6;

const SYNC = 'lab';

interface LinkPicture { id: string; name: string; yLabel: string; column: string; factor: number; kind: ChartOptions['kind'] }

const LINK_PICTURES: LinkPicture[] = [
  { id: 'queue', name: 'Queue', yLabel: 'packets', column: 'queue', factor: 1, kind: 'line' },
  { id: 'sojourn', name: 'Sojourn time', yLabel: 'ms', column: 'sojourn', factor: 1e3, kind: 'line' },
];

const MORE_LINK_PICTURES: LinkPicture[] = [
  { id: 'utilization', name: 'Utilization', yLabel: '%', column: 'utilization', factor: 100, kind: 'line' },
  { id: 'marks', name: 'Marks', yLabel: 'packets a sample', column: 'marks', factor: 1, kind: 'line' },
  { id: 'drops', name: 'Drops', yLabel: 'packets a sample', column: 'drops', factor: 1, kind: 'line' },
];

/** Shown at first. */
export const DEFAULT_PICTURES = ['queue', 'sojourn', 'probe-0', 'windows'];

export interface Shown {
  runs: readonly Run[];
  ghost: Run | null;
  /** Name of the link. */
  link: string;
  theory: Theory | null;
}

export function pictures(shown: Shown): Picture[] {
  const first = shown.runs[0];
  if (!first) return [];
  const link = linkOf(first, shown.link);
  const suffix = first.compiled.links.filter((each) => each.aqm !== null).length > 1 ? `, ${shown.link}` : '';
  const probes = (link?.probes ?? []).map((column, i) => ({
    id: `probe-${i}`, name: column.replaceAll('_', ' '), ...inUnit(link?.probeUnits[i] ?? ''), column, kind: 'line' as const,
  }));
  return [
    ...[...LINK_PICTURES, ...probes].map((each) => linkPicture(each, shown, suffix)),
    flowPicture('windows', 'Windows', 'packets', shown, (run, flow) => run.samples.window(flow), 1),
    flowPicture('rates', 'Rates', 'Mbit/s', shown, (run, flow) => run.samples.rate(flow), 1e-6),
    ...MORE_LINK_PICTURES.map((each) => linkPicture(each, shown, suffix)),
  ];
}

/** Base units in those that people say. */
function inUnit(unit: string): { yLabel: string; factor: number } {
  if (unit === 'bit/s') return { yLabel: 'Mbit/s', factor: 1e-6 };
  if (unit === 's') return { yLabel: 'ms', factor: 1e3 };
  return { yLabel: unit, factor: 1 };
}

function linkOf(run: Run, name: string) {
  const links = run.compiled.links.filter((each) => each.aqm !== null);
  return links.find((each) => each.name === name) ?? links[0];
}

function options(title: string, yLabel: string, kind: ChartOptions['kind'], run: Run): ChartOptions {
  return { title, xLabel: 'time, s', yLabel, kind, syncKey: SYNC, height: 220, yFloor: 0, shadeUntil: run.compiled.warmup };
}

function linkPicture(picture: LinkPicture, shown: Shown, suffix: string): Picture {
  const ghosts = shown.ghost && shown.runs.length === 1 ? [shown.ghost] : [];
  const series = [...shown.runs, ...ghosts].flatMap((run): Series[] => {
    const link = linkOf(run, shown.link);
    if (!link) return [];
    const y = run.samples.link(link.index, picture.column);
    if (y.length === 0) return [];
    const ghost = run === shown.ghost;
    const label = ghost ? 'before' : shown.runs.length > 1 ? run.label : picture.name;
    return [{ id: ghost ? 'before' : run.label, label, x: run.samples.link(link.index, 't'), y: times(y, picture.factor), ghost }];
  });
  return {
    id: picture.id, name: picture.name,
    options: options(`${picture.name}${suffix}`, picture.yLabel, picture.kind, shown.runs[0]!),
    series: [...series, ...fluid(picture.id, picture.column, shown)],
  };
}

/** Windows and rates by flow; with two runs or a ghost, the means over flows. */
function flowPicture(
  id: string, name: string, yLabel: string, shown: Shown, values: (run: Run, flow: number) => Float64Array, factor: number,
): Picture {
  const single = shown.runs.length === 1;
  const series = shown.runs.flatMap((run): Series[] => {
    const x = run.samples.flowTimes.values;
    const flows = run.samples.flows;
    if (!single) return flows.length > 0 ? [{ id: run.label, label: `${run.label}, mean of ${flows.length} flows`, x, y: mean(run, values, factor) }] : [];
    return drawn(run).map((flow) => ({ id: String(flow), label: flowName(run, flow), x, y: times(values(run, flow), factor) }));
  });
  if (single && shown.ghost && shown.ghost.samples.flows.length > 0) {
    series.push({ id: 'before', label: 'before, mean', x: shown.ghost.samples.flowTimes.values, y: mean(shown.ghost, values, factor), ghost: true });
  }
  return { id, name, options: options(name, yLabel, 'line', shown.runs[0]!), series: [...series, ...fluid(id, id, shown)] };
}

/** The curve of the fluid model, where the model has this quantity. */
function fluid(id: string, column: string, { theory }: Shown): Series[] {
  const model = theory?.fluid;
  if (!model) return [];
  const y = id === 'queue' ? model.queue : id === 'windows' ? model.window : ['p', 'p_b', 'probability'].includes(column) ? model.probability : null;
  return y ? [{ id: 'fluid', label: 'fluid model', x: Float64Array.from(model.t), y: Float64Array.from(y) }] : [];
}

/** The flows that are drawn: of each group the first, then the second, and so on. */
function drawn(run: Run): number[] {
  const rank = (flow: number) => flow - Math.max(0, ...run.compiled.groups.map((each) => each.firstFlow).filter((first) => first <= flow));
  return [...run.samples.flows].sort((a, b) => rank(a) - rank(b) || a - b).slice(0, FLOWS);
}

function flowName(run: Run, flow: number): string {
  const group = run.compiled.groups.find((each) => each.firstFlow >= 0 && flow >= each.firstFlow && flow < each.firstFlow + each.flows);
  return group ? `${group.name} ${flow - group.firstFlow + 1}` : `flow ${flow + 1}`;
}

function mean(run: Run, values: (run: Run, flow: number) => Float64Array, factor: number): Float64Array {
  const columns = run.samples.flows.map((flow) => values(run, flow));
  const out = new Float64Array(run.samples.flowTimes.length);
  for (let i = 0; i < out.length; i++) {
    let sum = 0;
    let count = 0;
    for (const column of columns) {
      const value = column[i];
      if (value !== undefined && Number.isFinite(value)) {
        sum += value;
        count += 1;
      }
    }
    out[i] = count > 0 ? (factor * sum) / count : NaN;
  }
  return out;
}

function times(values: Float64Array, factor: number): Float64Array {
  // A copy in any case: the column grows while the chart holds on to it.
  return factor === 1 ? values.slice() : values.map((value) => factor * value);
}
