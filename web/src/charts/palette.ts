import type { Series } from './model';

/** How a series is drawn. */
export interface Look {
  color: string;
  dash: readonly number[];
  width: number;
  alpha: number;
}

/** Colours of a chart, as charts.css has them for dark and light. */
export interface Palette {
  ink: string;
  soft: string;
  rule: string;
  paper: string;
  series: readonly string[];
}

const COLORS = 7;
const DASHES: readonly (readonly number[])[] = [[], [7, 4], [2, 3], [9, 3, 2, 3]];
const GHOST = { dash: [4, 4], width: 1, alpha: 0.45 };
/** A dashed line through points of other series, such as a Pareto front: a part of the picture, not a trace. */
const THROUGH = { dash: [6, 3], width: 1.8, alpha: 0.85 };

/** Reads the colours that hold where the element is. */
export function paletteOf(element: Element): Palette {
  const style = getComputedStyle(element);
  const read = (name: string) => style.getPropertyValue(`--mq-${name}`).trim() || '#808080';
  return {
    ink: read('ink'),
    soft: read('soft'),
    rule: read('rule'),
    paper: read('paper'),
    series: Array.from({ length: COLORS }, (_, i) => read(`series-${i + 1}`)),
  };
}

/** The look of each series: a colour for each group, further dashes where colours are used up. */
export function looks(all: readonly Series[], palette: Palette): Look[] {
  const places = new Map<string, number>();
  const members = new Map<string, number>();
  return all.map((series) => {
    const key = series.group ?? series.id;
    if (!places.has(key)) places.set(key, places.size);
    const place = places.get(key)!;
    const color = palette.series[place % COLORS]!;
    if (series.ghost) return { color, ...(series.joined ? THROUGH : GHOST) };
    const member = members.get(key) ?? 0;
    members.set(key, member + 1);
    const dash = DASHES[(Math.floor(place / COLORS) + member) % DASHES.length]!;
    return { color, dash, width: 1.4, alpha: 1 };
  });
}
