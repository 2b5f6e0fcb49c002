import type { ChartOptions, Limits, Series } from './model';
import type { Look, Palette } from './palette';
import { drawable } from './table';
import { labelWidth, tickLabels, ticks } from './ticks';
import { place } from './view';

export interface Picture {
  series: readonly Series[];
  looks: readonly Look[];
  options: ChartOptions;
  limits: { x: Limits; y: Limits };
  palette: Palette;
}

export const WIDTH = 720;
const PLOT = { left: 64, right: 704, top: 44, height: 300 };
const LEGEND_LINE = 18;
const FONT = 'font-family="system-ui, DejaVu Sans, sans-serif" font-size="12"';

export const escaped = (text: string) =>
  text
    // Characters that XML does not allow at all.
    .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '�')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');

const short = (value: number) => String(Math.round(value * 100) / 100);

/** What a chart shows, as an SVG document of its own: same series, ranges and colours. */
export function toSvg(picture: Picture): { svg: string; height: number } {
  const { options, palette } = picture;
  const named = legend(picture);
  const top = PLOT.top + named.height;
  const height = top + PLOT.height + 48;
  const plot = new Plot(picture, top);
  const svg = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" ${FONT}>`,
    `<rect width="100%" height="100%" fill="${palette.paper}"/>`,
    `<text x="${PLOT.left}" y="24" font-size="15" font-weight="600" fill="${palette.ink}">${escaped(options.title)}</text>`,
    named.svg,
    plot.axes(),
    `<clipPath id="plot"><rect x="${plot.left}" y="${top}" width="${PLOT.right - plot.left}" height="${PLOT.height}"/></clipPath>`,
    `<g clip-path="url(#plot)">`,
    plot.marks(),
    ...picture.series.map((series, i) => plot.band(series, picture.looks[i]!)),
    ...picture.series.map((series, i) => plot.curve(series, picture.looks[i]!)),
    '</g></svg>',
  ].join('\n');
  return { svg, height };
}

function legend({ series, looks, palette }: Picture): { svg: string; height: number } {
  if (series.length < 2) return { svg: '', height: 0 };
  let [x, line] = [PLOT.left, 0];
  const entries = series.map((each, i) => {
    const width = 40 + 7 * each.label.length;
    if (x + width > PLOT.right && x > PLOT.left) [x, line] = [PLOT.left, line + 1];
    const y = PLOT.top + line * LEGEND_LINE;
    const look = looks[i]!;
    const entry =
      `<path d="M${x} ${y - 4}h22" ${stroke(look)}/>` +
      `<text x="${x + 28}" y="${y}" fill="${palette.ink}">${escaped(each.label)}</text>`;
    x += width;
    return entry;
  });
  return { svg: entries.join('\n'), height: (line + 1) * LEGEND_LINE };
}

const stroke = ({ color, dash, width, alpha }: Look) =>
  `fill="none" stroke="${color}" stroke-width="${width}" stroke-opacity="${alpha}"` +
  (dash.length ? ` stroke-dasharray="${dash.join(' ')}"` : '');

/** Draws into the frame of a picture. */
class Plot {
  /** Further right than usual where the numbers of the axis are long. */
  readonly left: number;
  private readonly yTicks: number[];
  private readonly yNames: string[];

  constructor(
    private readonly picture: Picture,
    private readonly top: number,
  ) {
    this.yTicks = ticks(picture.limits.y, picture.options.yScale ?? 'linear', 6);
    this.yNames = tickLabels(this.yTicks);
    this.left = Math.max(PLOT.left, 30 + labelWidth(this.yNames));
  }

  private x(value: number): number {
    const { limits, options } = this.picture;
    return this.left + place(value, limits.x, options.xScale ?? 'linear') * (PLOT.right - this.left);
  }

  private y(value: number): number {
    const { limits, options } = this.picture;
    return this.top + (1 - place(value, limits.y, options.yScale ?? 'linear')) * PLOT.height;
  }

  axes(): string {
    const { limits, options, palette } = this.picture;
    const bottom = this.top + PLOT.height;
    const xs = options.xNames ? [...options.xNames.keys()] : ticks(limits.x, options.xScale ?? 'linear', 8);
    const xNames = options.xNames ?? tickLabels(xs);
    const out = xs.map((value, i) => {
      const x = short(this.x(value));
      return (
        `<path d="M${x} ${this.top}V${bottom}" stroke="${palette.rule}"/>` +
        `<text x="${x}" y="${bottom + 17}" text-anchor="middle" fill="${palette.soft}">${escaped(xNames[i]!)}</text>`
      );
    });
    this.yTicks.forEach((value, i) => {
      const y = short(this.y(value));
      out.push(
        `<path d="M${this.left} ${y}H${PLOT.right}" stroke="${palette.rule}"/>` +
          `<text x="${this.left - 7}" y="${y}" dy="4" text-anchor="end" fill="${palette.soft}">${this.yNames[i]}</text>`,
      );
    });
    const middle = this.top + PLOT.height / 2;
    out.push(
      `<text x="${(this.left + PLOT.right) / 2}" y="${bottom + 38}" text-anchor="middle" fill="${palette.ink}">${escaped(options.xLabel)}</text>`,
      `<text transform="translate(16 ${middle}) rotate(-90)" text-anchor="middle" fill="${palette.ink}">${escaped(options.yLabel)}</text>`,
    );
    return out.join('\n');
  }

  /** The warm-up and the boundaries of windows. */
  marks(): string {
    const { options, palette } = this.picture;
    const bottom = this.top + PLOT.height;
    const shade = options.shadeUntil
      ? `<path d="M${short(this.x(0))} ${this.top}H${short(this.x(options.shadeUntil))}V${bottom}H${short(this.x(0))}Z" fill="${palette.soft}" fill-opacity="0.12"/>`
      : '';
    const cuts = (options.cuts ?? []).map(
      (cut) => `<path d="M${short(this.x(cut))} ${this.top}V${bottom}" stroke="${palette.soft}" stroke-dasharray="2 3"/>`,
    );
    return [shade, ...cuts].join('');
  }

  band(series: Series, look: Look): string {
    const { low, high } = series;
    if (!low || !high) return '';
    const places = [...series.x.keys()].filter((i) => this.seen(low[i]!) && this.seen(high[i]!));
    const at = (i: number, values: Float64Array) => `${short(this.x(series.x[i]!))} ${short(this.y(values[i]!))}`;
    if (this.picture.options.kind === 'scatter' || places.length < 3) {
      return `<path d="${places.map((i) => `M${at(i, low)}L${at(i, high)}`).join('')}" ${stroke({ ...look, dash: [] })}/>`;
    }
    const outline = [...places.map((i) => at(i, high)), ...places.toReversed().map((i) => at(i, low))];
    return `<path d="M${outline.join('L')}Z" fill="${look.color}" fill-opacity="${0.2 * look.alpha}"/>`;
  }

  curve(series: Series, look: Look): string {
    const { kind } = this.picture.options;
    const points = kind === 'scatter' || series.x.length < 2;
    let path = '';
    let before: number | null = null;
    const dots: string[] = [];
    series.x.forEach((at, i) => {
      const value = series.y[i]!;
      if (!this.seen(value)) {
        before = null;
        return;
      }
      const [x, y] = [short(this.x(at)), short(this.y(value))];
      if (points) dots.push(`<circle cx="${x}" cy="${y}" r="4"/>`);
      if (before === null) path += `M${x} ${y}`;
      else path += kind === 'step' ? `H${x}V${y}` : `L${x} ${y}`;
      before = value;
    });
    const line = points && !series.joined ? '' : `<path d="${path}" ${stroke(look)} stroke-linejoin="round"/>`;
    return points && !series.ghost ? `${line}<g fill="${look.color}" fill-opacity="${look.alpha}">${dots.join('')}</g>` : line;
  }

  private seen(value: number): boolean {
    return drawable(value, this.picture.options.yScale ?? 'linear');
  }
}
