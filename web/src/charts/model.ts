/** One curve, or one set of points. Values that are not finite are gaps. */
export interface Series {
  id: string;
  label: string;
  x: Float64Array;
  y: Float64Array;
  /** A band around a line, or bars at points: for example a confidence interval. */
  low?: Float64Array;
  high?: Float64Array;
  /** Series of a group have one colour and differ in their dashes. */
  group?: string;
  /** An old curve to compare with: faint and dashed. */
  ghost?: boolean;
  /** What each point is; shown where the pointer is (scatter). */
  names?: readonly string[];
  /** Points with a line from each to the next (scatter). */
  joined?: boolean;
}

export type Scale = 'linear' | 'log';

export interface ChartOptions {
  title: string;
  xLabel: string;
  yLabel: string;
  kind: 'line' | 'step' | 'scatter';
  xScale?: Scale;
  yScale?: Scale;
  /** Charts with the same key show the same range of x and one pointer. */
  syncKey?: string;
  /** Height of the plot, CSS pixels. */
  height?: number;
  /** Names of x = 0, 1, 2, … for an axis that has no numbers. */
  xNames?: readonly string[];
  /** The whole range of x, for charts below each other; by default that of the series. */
  xRange?: readonly [number, number];
  /** The lower end of y, unless a value is below it. */
  yFloor?: number;
  /** Grey between 0 and this x: the warm-up. */
  shadeUntil?: number;
  /** Dotted vertical lines: boundaries of measuring windows. */
  cuts?: readonly number[];
  /** A remark in a downloaded CSV, for example that the data are thinned. */
  note?: string;
}

/** The range of an axis that is seen. */
export interface Limits {
  min: number;
  max: number;
}
