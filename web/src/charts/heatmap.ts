import './charts.css';
import { button, element } from './controls';
import { fileName, savePng, saveText } from './download';
import { type Palette, paletteOf } from './palette';
import { escaped, WIDTH } from './svg';
import { onTheme } from './theme';
import { shown } from './ticks';

/** A value for each pair of two settings: `values[y][x]`, null where there is none. */
export interface Heat {
  title: string;
  xLabel: string;
  yLabel: string;
  valueLabel: string;
  xNames: readonly string[];
  yNames: readonly string[];
  values: readonly (readonly (number | null)[])[];
}

/** Viridis (Smith and van der Walt 2015): lightness rises evenly, for the colour-blind and on grey paper too. */
const VIRIDIS = ['#440154', '#472d7b', '#3b528b', '#2c728e', '#21918c', '#28ae80', '#5ec962', '#addc30', '#fde725'];
const TOP = 40;
const ROW = 34;

/** A table of colours with the values in it. */
export class HeatMap {
  private readonly root = element('div', 'mq-chart', '', { role: 'group' });
  private readonly title = element('div', 'mq-title');
  private readonly drawing = element('div', 'mq-plot');
  private readonly readout = element('p', 'mq-readout', '', { 'aria-live': 'polite' });
  private readonly leaveTheme: () => void;
  private readonly resized: ResizeObserver;
  private width = WIDTH;
  private heat: Heat;

  constructor(host: HTMLElement, heat: Heat) {
    this.heat = heat;
    const tools = element('div', 'mq-tools', '', { role: 'toolbar', 'aria-label': 'Heat map' });
    const name = (ending: string) => fileName(this.heat.title, ending);
    tools.append(
      button('SVG', 'Download as SVG', () => saveText(name('svg'), this.svg().svg, 'image/svg+xml')),
      button('PNG', 'Download as PNG', () => {
        const { svg, height } = this.svg();
        void savePng(name('png'), svg, WIDTH, height);
      }),
      button('CSV', 'Download the values as CSV', () => saveText(name('csv'), this.csv(), 'text/csv')),
    );
    const head = element('div', 'mq-head');
    head.append(this.title, tools);
    this.root.append(head, this.drawing, this.readout);
    host.append(this.root);
    this.drawing.addEventListener('keydown', (event) => this.key(event));
    this.leaveTheme = onTheme(() => this.draw());
    this.resized = new ResizeObserver(() => {
      const width = Math.max(260, this.drawing.clientWidth);
      if (width === this.width) return;
      this.width = width;
      this.draw();
    });
    this.resized.observe(this.drawing);
    this.draw();
  }

  setHeat(heat: Heat): void {
    this.heat = heat;
    this.draw();
  }

  destroy(): void {
    this.leaveTheme();
    this.resized.disconnect();
    this.root.remove();
  }

  /** The picture as an SVG document of this width. */
  svg(width = WIDTH): { svg: string; height: number } {
    return heatSvg(this.heat, paletteOf(this.root), width);
  }

  csv(): string {
    const quoted = (text: string) => `"${(/^[=+@]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
    const { yLabel, valueLabel, xNames, yNames, values } = this.heat;
    const heads = [`${yLabel}: ${valueLabel}`, ...xNames];
    const rows = yNames.map((name, y) => [quoted(name), ...values[y]!.map((value) => value ?? '')].join(','));
    return [heads.map(quoted).join(','), ...rows, ''].join('\r\n');
  }

  private draw(): void {
    this.title.textContent = this.heat.title;
    this.root.setAttribute('aria-label', this.heat.title);
    this.readout.textContent = '';
    const parsed = new DOMParser().parseFromString(this.svg(this.width).svg, 'image/svg+xml').documentElement;
    parsed.setAttribute('class', 'mq-heat');
    parsed.querySelectorAll('[data-title]').forEach((each) => each.remove()); // the page has it above
    this.drawing.replaceChildren(parsed);
    this.cells().forEach((cell, i) => {
      cell.setAttribute('tabindex', i ? '-1' : '0');
      const say = () => (this.readout.textContent = cell.getAttribute('aria-label'));
      cell.addEventListener('pointerenter', say);
      cell.addEventListener('focus', say);
    });
  }

  private cells(): SVGElement[] {
    return [...this.drawing.querySelectorAll<SVGElement>('rect[data-cell]')];
  }

  /** Arrow keys move between cells. */
  private key(event: KeyboardEvent): void {
    const columns = this.heat.xNames.length;
    const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: columns, ArrowDown: -columns };
    const step = steps[event.key];
    const cells = this.cells();
    const now = cells.indexOf(event.target as SVGElement);
    if (step === undefined || now < 0) return;
    event.preventDefault();
    if (Math.abs(step) === 1 && Math.floor(now / columns) !== Math.floor((now + step) / columns)) return;
    const next = cells[now + step];
    if (!next) return;
    cells[now]!.setAttribute('tabindex', '-1');
    next.setAttribute('tabindex', '0');
    next.focus();
  }
}

function heatSvg(heat: Heat, palette: Palette, width: number): { svg: string; height: number } {
  const { xNames, yNames, values } = heat;
  const finite = values.flat().filter((value): value is number => value !== null && Number.isFinite(value));
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  const longest = Math.max(...yNames.map((name) => name.length));
  const left = Math.min(width * 0.4, 44 + 7 * longest);
  const cell = (width - left - 16) / Math.max(1, xNames.length);
  const bottom = TOP + ROW * yNames.length;
  const height = bottom + 58;
  const out = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, DejaVu Sans, sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="${palette.paper}"/>`,
    `<text data-title="" x="16" y="24" font-size="15" font-weight="600" fill="${palette.ink}">${escaped(heat.title)}</text>`,
  ];
  yNames.forEach((yName, y) => {
    const top = bottom - ROW * (y + 1);
    out.push(`<text x="${left - 8}" y="${top + ROW / 2 + 4}" text-anchor="end" fill="${palette.soft}">${escaped(yName)}</text>`);
    xNames.forEach((xName, x) => {
      const value = values[y]![x] ?? null;
      const share = value === null ? null : high > low ? (value - low) / (high - low) : 0.5;
      const from = left + cell * x;
      const said = `${heat.xLabel} ${xName}, ${heat.yLabel} ${yName}: ${heat.valueLabel} ${shown(value)}`;
      out.push(
        `<rect data-cell="" role="img" aria-label="${escaped(said)}" x="${from + 1}" y="${top + 1}" width="${cell - 2}" height="${ROW - 2}" fill="${share === null ? palette.rule : viridis(share)}"/>`,
      );
      const text = shown(value);
      if (cell > 8 * text.length) {
        const ink = share === null ? palette.ink : share > 0.5 ? '#000000' : '#ffffff';
        // The sheet of the page colours text by its own rule: a style stands above it.
        out.push(
          `<text x="${from + cell / 2}" y="${top + ROW / 2 + 4}" text-anchor="middle" aria-hidden="true" pointer-events="none" style="fill: ${ink}">${text}</text>`,
        );
      }
    });
  });
  const every = Math.ceil((Math.max(...xNames.map((name) => name.length)) * 8 + 8) / cell);
  xNames.forEach((name, x) => {
    if (x % every) return;
    out.push(`<text x="${left + cell * (x + 0.5)}" y="${bottom + 17}" text-anchor="middle" fill="${palette.soft}">${escaped(name)}</text>`);
  });
  out.push(
    `<text x="${(left + width - 16) / 2}" y="${bottom + 40}" text-anchor="middle" style="fill: ${palette.ink}">${escaped(heat.xLabel)}</text>`,
    `<text transform="translate(14 ${(TOP + bottom) / 2}) rotate(-90)" text-anchor="middle" style="fill: ${palette.ink}">${escaped(heat.yLabel)}</text>`,
    '</svg>',
  );
  return { svg: out.join('\n'), height };
}

function viridis(share: number): string {
  const at = Math.min(1, Math.max(0, share)) * (VIRIDIS.length - 1);
  const [from, to] = [VIRIDIS[Math.floor(at)]!, VIRIDIS[Math.ceil(at)]!];
  const mixed = [1, 3, 5].map((i) => {
    const [a, b] = [parseInt(from.slice(i, i + 2), 16), parseInt(to.slice(i, i + 2), 16)];
    return Math.round(a + (b - a) * (at % 1)).toString(16).padStart(2, '0');
  });
  return `#${mixed.join('')}`;
}
