import type { Limits, Scale } from './model';

/** Places of an axis's numbers: multiples of 1, 2 or 5, or powers of ten with 2 and 5 between. */
export function ticks(limits: Limits, scale: Scale, most: number): number[] {
  return scale === 'log' ? logarithmic(limits, most) : linear(limits, most);
}

function linear({ min, max }: Limits, most: number): number[] {
  const span = max - min;
  if (!(span > 0)) return [min];
  const step = niceStep(span / Math.max(1, most));
  const places: number[] = [];
  for (let i = Math.ceil(min / step - 1e-9); i * step <= max + step * 1e-9; i++) places.push(i * step);
  return places;
}

function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].find((factor) => factor * power >= least * (1 - 1e-9))! * power;
}

function logarithmic(limits: Limits, most: number): number[] {
  const first = Math.floor(Math.log10(limits.min));
  const last = Math.ceil(Math.log10(limits.max));
  const inside = (factors: readonly number[], every: number) => {
    const places: number[] = [];
    for (let decade = first; decade <= last; decade += every) {
      for (const factor of factors) places.push(factor * 10 ** decade);
    }
    return places.filter((place) => place >= limits.min * (1 - 1e-9) && place <= limits.max * (1 + 1e-9));
  };
  const fine = inside([1, 2, 5], 1);
  const seen = fine.length <= most + 1 ? fine : inside([1], Math.ceil((last - first) / most));
  // Within less than a decade there may be no such number: then any round one will do.
  return seen.length >= 2 ? seen : linear(limits, most).filter((place) => place > 0);
}

/** Numbers of an axis, with as many decimals as tell them apart. */
export function tickLabels(places: readonly number[]): string[] {
  const sizes = places.map(Math.abs).filter((size) => size > 0);
  const largest = Math.max(0, ...sizes);
  const gaps = places.slice(1).map((place, i) => Math.abs(place - places[i]!));
  const least = Math.min(...gaps, ...(gaps.length ? [] : [largest || 1]));
  if (largest >= 1e6 || (largest > 0 && largest < 1e-4)) return places.map(powerOfTen);
  const decimals = Math.min(8, Math.max(0, -Math.floor(Math.log10(least) + 1e-9)));
  return places.map((place) => {
    const own = Math.abs(place) > 0 && Math.abs(place) < 10 ** -decimals ? String(place) : place.toFixed(decimals);
    return own.replace('-', '−');
  });
}

/** Room for numbers of an axis in 12 px letters, px. */
export function labelWidth(labels: readonly string[]): number {
  return 7 * Math.max(0, ...labels.map((each) => each.length));
}

function powerOfTen(value: number): string {
  if (value === 0) return '0';
  return String(Number(value.toPrecision(4)).toExponential()).replace('e+', 'e').replaceAll('-', '−');
}

/** A value in four digits, as it is shown at the pointer. */
export function shown(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  const short = Number(value.toPrecision(4));
  const size = Math.abs(short);
  const text = size !== 0 && (size >= 1e7 || size < 1e-4) ? short.toExponential() : String(short);
  return text.replaceAll('-', '−');
}
