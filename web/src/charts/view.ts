import type { ChartOptions, Limits, Scale, Series } from './model';
import { extentX, extentY } from './table';

/** What part of a chart is seen: chosen by the reader, or all of it. */
export class View {
  x: Limits | null = null;
  y: Limits | null = null;

  /** The ranges of both axes for these series. */
  limits(series: readonly Series[], options: ChartOptions): { x: Limits; y: Limits } {
    const x = this.x ?? wholeX(series, options);
    const y = this.y ?? wholeY(series, options, x);
    return { x, y };
  }
}

function wholeX(series: readonly Series[], options: ChartOptions): Limits {
  if (options.xNames) return { min: -0.5, max: options.xNames.length - 0.5 };
  if (options.xRange) return { min: options.xRange[0], max: options.xRange[1] };
  const found = extentX(series);
  const scale = options.xScale ?? 'linear';
  if (!found) return scale === 'log' ? { min: 1, max: 10 } : { min: 0, max: 1 };
  // A line begins at the frame, a point does not lie on it.
  return options.kind === 'scatter' || found.min === found.max ? padded(found, scale, 0.06) : found;
}

function wholeY(series: readonly Series[], options: ChartOptions, x: Limits): Limits {
  const scale = options.yScale ?? 'linear';
  const found = extentY(series, x, scale, options.kind === 'scatter');
  if (!found) return scale === 'log' ? { min: 1, max: 10 } : { min: options.yFloor ?? 0, max: (options.yFloor ?? 0) + 1 };
  const wide = padded(found, scale, 0.05);
  if (scale === 'linear' && options.yFloor !== undefined && found.min >= options.yFloor) wide.min = options.yFloor;
  return wide.min < wide.max ? wide : { min: wide.min, max: wide.min + 1 };
}

function padded({ min, max }: Limits, scale: Scale, share: number): Limits {
  if (scale === 'log') {
    const factor = (max / min) ** share * (max === min ? 2 : 1);
    return { min: min / factor, max: max * factor };
  }
  const margin = (max - min) * share || Math.abs(max) * 0.1 || 1;
  return { min: min - margin, max: max + margin };
}

/** A value's place on its axis, from 0 at the lower end to 1. */
export function place(value: number, { min, max }: Limits, scale: Scale): number {
  if (scale === 'log') return Math.log(value / min) / Math.log(max / min);
  return (value - min) / (max - min);
}

/** The value at a place. */
export function valueAt(share: number, { min, max }: Limits, scale: Scale): number {
  return scale === 'log' ? min * (max / min) ** share : min + share * (max - min);
}

/** The part of a range between two places. */
export function part(limits: Limits, scale: Scale, from: number, to: number): Limits {
  return { min: valueAt(from, limits, scale), max: valueAt(to, limits, scale) };
}
