import type { Series } from './model';
import type { Look } from './palette';

/** Makes an element with a class, text and attributes. Text is never taken as HTML. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className = '',
  text = '',
  attributes: Readonly<Record<string, string>> = {},
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

export function button(text: string, label: string, act: () => void): HTMLButtonElement {
  const made = element('button', 'mq-button', text, { type: 'button', 'aria-label': label, title: label });
  made.addEventListener('click', act);
  return made;
}

/** A button that is on or off. */
export function toggle(text: string, label: string, act: () => void): HTMLButtonElement {
  const made = button(text, label, act);
  made.setAttribute('aria-pressed', 'false');
  return made;
}

/** Names, looks and values of the series; a click shows or hides one, with shift all others. */
export class Legend {
  readonly root = element('ul', 'mq-legend');
  private values: HTMLElement[] = [];
  private buttons: HTMLButtonElement[] = [];

  constructor(private readonly choose: (index: number, alone: boolean) => void) {}

  show(all: readonly Series[], looks: readonly Look[], hidden: ReadonlySet<string>): void {
    this.values = [];
    this.buttons = [];
    this.root.replaceChildren(
      ...all.map((series, i) => {
        const entry = element('button', 'mq-entry', '', {
          type: 'button',
          'aria-pressed': String(!hidden.has(series.id)),
          title: `Show or hide ${series.label}; with the shift key: show it alone`,
        });
        const value = element('span', 'mq-value');
        entry.append(swatch(looks[i]!), element('span', 'mq-name', series.label), value);
        entry.addEventListener('click', (event) => this.choose(i, event.shiftKey));
        this.values.push(value);
        this.buttons.push(entry);
        const item = element('li');
        item.append(entry);
        return item;
      }),
    );
  }

  pressed(all: readonly Series[], hidden: ReadonlySet<string>): void {
    all.forEach((series, i) => this.buttons[i]?.setAttribute('aria-pressed', String(!hidden.has(series.id))));
  }

  /** Shows the values at the pointer; none where it is outside. */
  at(values: readonly string[] | null): void {
    this.values.forEach((value, i) => (value.textContent = values?.[i] ?? ''));
  }
}

function swatch({ color, dash, alpha }: Look): SVGSVGElement {
  const space = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(space, 'svg');
  svg.setAttribute('class', 'mq-swatch');
  svg.setAttribute('viewBox', '0 0 24 10');
  svg.setAttribute('aria-hidden', 'true');
  const line = document.createElementNS(space, 'path');
  line.setAttribute('d', 'M1 5h22');
  line.setAttribute('stroke', color);
  line.setAttribute('stroke-width', '3');
  line.setAttribute('stroke-opacity', String(alpha));
  line.setAttribute('stroke-dasharray', dash.join(' '));
  svg.append(line);
  return svg;
}
