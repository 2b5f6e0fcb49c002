import { Chart } from '../charts/chart';
import { element } from '../charts/controls';
import type { ChartOptions, Series } from '../charts/model';
import { choiceBoxes, type Chosen } from './choices';
import { type ChartData, type Curve, type Group, points } from './data';

/** Charts over simulated time show the same range of it. */
const TIME = 'time';

/** Curves of one of these have one colour, if several are shown. */
const COLORED_BY = ['result', 'flow', 'link'];

interface Drawn {
  chart: Chart;
  data: ChartData;
  points: ReturnType<typeof points>[];
  host: HTMLElement;
}

/**
 * Draws a group of charts and what can be chosen in it. Throws Corrupt before it draws anything. What it returns takes all
 * of it away.
 */
export function drawGroup(host: HTMLElement, group: Group): () => void {
  const read = group.charts.map((data) => ({ data, points: data.series.map(points) }));
  const { boxes, chosen } = choiceBoxes(group.choices, () => drawn.forEach((each) => show(each, chosen)));
  host.append(boxes);
  const drawn: Drawn[] = read.map((each) => {
    const place = element('div');
    host.append(place);
    return { ...each, host: place, chart: new Chart(place, options(each.data)) };
  });
  drawn.forEach((each) => show(each, chosen));
  return () => {
    drawn.forEach(({ chart }) => chart.destroy());
    host.replaceChildren();
  };
}

function options(data: ChartData): ChartOptions {
  const { title, xLabel, yLabel, kind, xScale, yScale, shadeUntil, cuts, xNames, thinned } = data;
  return {
    title,
    xLabel,
    yLabel,
    kind,
    xScale,
    yScale,
    shadeUntil,
    cuts,
    ...(data.overTime && { syncKey: TIME }),
    ...(data.until !== null && { xRange: [0, data.until] as const }),
    ...(data.yFloor !== null && { yFloor: data.yFloor }),
    ...(xNames.length && { xNames }),
    ...(thinned && {
      note:
        `Thinned for this page: ${thinned[0]} of ${thinned[1]} samples; the first, last, smallest and largest of ` +
        'each stretch are kept. The Parquet files of the result have all.',
    }),
  };
}

/** Shows what is chosen of a chart; one without any curve is hidden. */
function show({ chart, data, points, host }: Drawn, chosen: Chosen): void {
  const places = [...data.series.keys()].filter((i) => isChosen(data.series[i]!, chosen));
  const curves = places.map((i) => data.series[i]!);
  const names = labels(curves, data);
  const by = COLORED_BY.find((tag) => new Set(curves.map(({ tags }) => tags[tag])).size > 1);
  host.hidden = places.length === 0;
  chart.setSeries(
    places.map((place, i): Series => {
      const { tags, name, ghost } = data.series[place]!;
      const group = by && tags[by];
      return {
        id: JSON.stringify([name, tags]),
        label: names[i]!,
        ...points[place]!,
        ...(group && { group }),
        ...(ghost && { ghost }),
      };
    }),
  );
}

function isChosen({ tags }: Curve, chosen: Chosen): boolean {
  return Object.entries(tags).every(([tag, value]) => chosen.get(tag)?.has(value) ?? true);
}

/** Names that tell the curves apart: by their quantity, and by the tags in which they differ. */
function labels(curves: readonly Curve[], data: ChartData): string[] {
  const tags = new Set(curves.flatMap((curve) => Object.keys(curve.tags)));
  const several = [...tags].filter((tag) => new Set(curves.map((curve) => curve.tags[tag])).size > 1);
  return curves.map((curve) => {
    const parts = several.map((tag) => tagName(tag, curve.tags[tag])).filter(Boolean);
    return [curve.name, ...parts].filter(Boolean).join(', ') || data.yLabel;
  });
}

function tagName(tag: string, value: string | undefined): string {
  return tag === 'replication' && value && /^\d+$/.test(value) ? `replication ${value}` : value ?? '';
}
