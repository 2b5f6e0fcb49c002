import { element } from '../charts/controls';

/** A slider or a list, as marqueue.notebook.sliders describes it. */
export interface Control {
  path: string;
  unit: string;
  least: number;
  most: number;
  step: number;
  choices: string[];
  value: string;
}

/** The controls of a lab. `moved` is called with the path and the new value as a scenario has it. */
export function controlBoxes(
  controls: readonly Control[],
  values: Record<string, string>,
  moved: (path: string, value: string) => void,
): HTMLElement {
  const box = element('div', 'marqueue-controls');
  for (const control of controls) {
    const label = element('label');
    label.append(element('span', '', control.path));
    label.append(...(control.choices.length ? list(control, values, moved) : slider(control, values, moved)));
    box.append(label);
  }
  return box;
}

type Moved = (path: string, value: string) => void;

function list({ path, choices, value }: Control, values: Record<string, string>, moved: Moved): HTMLElement[] {
  const select = element('select') as HTMLSelectElement;
  const now = values[path] ?? value;
  for (const each of now ? choices : ['', ...choices]) select.append(new Option(each || 'as in the scenario', each));
  select.value = now;
  select.addEventListener('change', () => select.value && moved(path, select.value));
  return [select];
}

function slider(control: Control, values: Record<string, string>, moved: Moved): HTMLElement[] {
  const { path, unit, least, most, step } = control;
  const input = element('input', '', '', { type: 'range' }) as HTMLInputElement;
  Object.assign(input, { min: String(least), max: String(most), step: String(step) });
  input.value = String(parseFloat(values[path] ?? control.value));
  const output = element('output');
  const text = (): string => `${Number(Number(input.value).toPrecision(4))} ${unit}`.trim();
  output.textContent = text();
  // Each run takes a moment: the number follows the thumb, the run waits until it is let go.
  input.addEventListener('input', () => (output.textContent = text()));
  input.addEventListener('change', () => moved(path, text()));
  return [input, output];
}
