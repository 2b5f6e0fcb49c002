import { element } from '../charts/controls';
import type { Choice } from './data';

/** Which values of each tag are chosen. */
export type Chosen = Map<string, Set<string>>;

/** Check boxes for each choice; calls back after each change. */
export function choiceBoxes(choices: readonly Choice[], changed: () => void): { boxes: HTMLElement; chosen: Chosen } {
  const boxes = element('div', 'choices');
  const chosen: Chosen = new Map();
  for (const { tag, label, values, shown } of choices) {
    const now = new Set(shown);
    chosen.set(tag, now);
    const set = element('fieldset');
    set.append(element('legend', '', label));
    for (const value of values) {
      const box = element('input', '', '', { type: 'checkbox' });
      box.checked = now.has(value);
      box.addEventListener('change', () => {
        if (box.checked) now.add(value);
        else now.delete(value);
        changed();
      });
      const entry = element('label');
      entry.append(box, ` ${value}`);
      set.append(entry);
    }
    boxes.append(set);
  }
  return { boxes, chosen };
}

/** A list to choose one of. */
export function choose(label: string, names: readonly string[], at: number, changed: (at: number) => void): HTMLElement {
  const list = element('select');
  names.forEach((name, i) => list.append(new Option(name, String(i), i === at, i === at)));
  list.addEventListener('change', () => changed(Number(list.value)));
  const entry = element('label', 'choose');
  entry.append(`${label} `, list);
  return entry;
}
