import uPlot from 'uplot';
import type { ChartOptions, Series } from './model';
import type { Look, Palette } from './palette';
import { drawable, placeOf, type Table } from './table';

/** The pointer finds points within so many CSS pixels. */
const REACH = 40;

export function uplotSeries(
  all: readonly Series[],
  looks: readonly Look[],
  kind: ChartOptions['kind'],
  hidden: ReadonlySet<string>,
): uPlot.Series[] {
  return all.map((series, i) => {
    const { color, dash, width, alpha } = looks[i]!;
    const points = kind === 'scatter';
    const step = uPlot.paths.stepped!({ align: 1 });
    return {
      label: series.label,
      show: !hidden.has(series.id),
      stroke: color,
      alpha,
      width,
      dash: [...dash],
      ...(points && { ...(!series.joined && { paths: () => null }), points: { show: !series.ghost, size: 8, fill: color } }),
      ...(kind === 'step' && { paths: step, points: { show: series.x.length < 2 } }),
      // Marks at every sample would hide a line where it is long.
      ...(kind === 'line' && { points: { show: series.x.length < 40, size: 6, fill: color } }),
    };
  });
}

/** Draws what is behind the curves: warm-up, boundaries of windows, bands, bars of intervals. */
export function behind(
  u: uPlot,
  all: readonly Series[],
  looks: readonly Look[],
  options: ChartOptions,
  palette: Palette,
  hidden: ReadonlySet<string>,
): void {
  const { ctx, bbox } = u;
  const x = (value: number) => u.valToPos(value, 'x', true);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  if (options.shadeUntil) {
    ctx.globalAlpha = 0.12;
    ctx.fillStyle = palette.soft;
    ctx.fillRect(x(0), bbox.top, x(options.shadeUntil) - x(0), bbox.height);
  }
  ctx.globalAlpha = 1;
  ctx.strokeStyle = palette.soft;
  ctx.setLineDash([2 * uPlot.pxRatio, 3 * uPlot.pxRatio]);
  ctx.beginPath();
  for (const cut of options.cuts ?? []) {
    ctx.moveTo(x(cut), bbox.top);
    ctx.lineTo(x(cut), bbox.top + bbox.height);
  }
  ctx.stroke();
  ctx.setLineDash([]);
  all.forEach((series, i) => {
    if (!hidden.has(series.id)) spread(u, series, looks[i]!, options);
  });
  ctx.restore();
}

function spread(u: uPlot, series: Series, look: Look, options: ChartOptions): void {
  const { low, high } = series;
  if (!low || !high) return;
  const scale = options.yScale ?? 'linear';
  const { ctx } = u;
  const at = [...series.x.keys()].filter((i) => drawable(low[i]!, scale) && drawable(high[i]!, scale));
  const x = (i: number) => u.valToPos(series.x[i]!, 'x', true);
  const y = (value: number) => u.valToPos(value, 'y', true);
  ctx.beginPath();
  if (options.kind === 'scatter' || at.length < 3) {
    for (const i of at) {
      ctx.moveTo(x(i), y(low[i]!));
      ctx.lineTo(x(i), y(high[i]!));
    }
    ctx.globalAlpha = look.alpha;
    ctx.strokeStyle = look.color;
    ctx.lineWidth = 1.5 * uPlot.pxRatio;
    ctx.stroke();
    return;
  }
  at.forEach((i) => ctx.lineTo(x(i), y(high[i]!)));
  at.toReversed().forEach((i) => ctx.lineTo(x(i), y(low[i]!)));
  ctx.globalAlpha = 0.2 * look.alpha;
  ctx.fillStyle = look.color;
  ctx.fill();
}

/** The point nearest to the pointer, within its reach. */
export function nearest(
  u: uPlot,
  all: readonly Series[],
  table: Table,
  hidden: ReadonlySet<string>,
): { series: number; row: number } | null {
  const { left = -1, top = -1 } = u.cursor;
  if (left < 0) return null;
  let found: { series: number; row: number } | null = null;
  let least = REACH;
  all.forEach((each, series) => {
    if (hidden.has(each.id)) return;
    for (let row = 0; row < table.x.length; row++) {
      const place = placeOf(table, series, row);
      if (place < 0 || !Number.isFinite(each.y[place]!)) continue;
      const away = Math.hypot(u.valToPos(table.x[row]!, 'x') - left, u.valToPos(each.y[place]!, 'y') - top);
      if (away < least) [least, found] = [away, { series, row }];
    }
  });
  return found;
}
