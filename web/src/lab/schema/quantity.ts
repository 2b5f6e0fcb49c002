// Quantities are texts with a unit, as in scenario files: "10 Mbit/s".

export interface Quantity { number: number; unit: string; text: string }

const QUANTITY = /^\s*\+?((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?)\s*([^\s\d].*?)\s*$/;

/** The number and unit of a text; null if it is not a quantity. */
export function parseQuantity(text: unknown): Quantity | null {
  const found = typeof text === 'string' ? QUANTITY.exec(text) : null;
  return found ? { number: Number(found[1]), text: found[1]!, unit: found[2]! } : null;
}

/** The units that a pattern of the schema allows; its last group lists them. */
export function unitsOf(pattern: string): string[] {
  const found = /\(([^()]+)\)\\s\*\$$/.exec(pattern);
  return found ? found[1]!.split('|') : [];
}

/** A number with four significant digits and no zeros that say nothing. */
export function rounded(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const text = value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6) ? value.toExponential(3) : value.toPrecision(4);
  const [mantissa, exponent] = text.split('e');
  const short = mantissa!.includes('.') ? mantissa!.replace(/\.?0+$/, '') : mantissa!;
  return exponent === undefined ? short : `${short}e${exponent.replace('+', '')}`;
}

/** A mean with the half width of its interval: one digit of it, two if it begins with 1, as in reports. */
export function estimated(mean: number, half: number | null): string {
  if (half === null || half <= 1e-9 * Math.abs(mean)) return rounded(mean);
  const digits = half.toExponential(1).startsWith('1') ? 2 : 1;
  const decimals = digits - 1 - Math.floor(Math.log10(half));
  if (decimals > 6) return `${rounded(mean)} ± ${rounded(half)}`;
  const unit = 10 ** -decimals;
  const text = (value: number) => (decimals > 0 ? value.toFixed(decimals) : String(Math.round(value / unit) * unit));
  return `${text(mean)} ± ${text(half)}`;
}

/** Bits a second in the unit that people say. */
export function rateText(bits: number): string {
  const [factor, unit] =
    bits >= 1e12 ? [1e12, 'Tbit/s'] : bits >= 1e9 ? [1e9, 'Gbit/s'] : bits >= 1e6 ? [1e6, 'Mbit/s'] : bits >= 1e3 ? [1e3, 'kbit/s'] : [1, 'bit/s'];
  return `${rounded(bits / (factor as number))} ${unit}`;
}

/** Bytes in the unit that people say. */
export function sizeText(bytes: number): string {
  const [factor, unit] = bytes >= 1e9 ? [1e9, 'GB'] : bytes >= 1e6 ? [1e6, 'MB'] : [1e3, 'kB'];
  return `${rounded(bytes / (factor as number))} ${unit}`;
}
