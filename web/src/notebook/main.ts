/** The widgets of notebooks: charts of a result, and above them the controls of a lab. */
import '../report/report.css';
import './notebook.css';
import { element } from '../charts/controls';
import type { Group } from '../report/data';
import { drawGroup } from '../report/group';
import { type Control, controlBoxes } from './sliders';

/** What anywidget gives: the traits of the Python object (marqueue.notebook.widgets). */
interface Model {
  get(name: 'data' | 'summary' | 'problem'): string | undefined;
  get(name: 'controls'): Control[] | undefined;
  get(name: 'values'): Record<string, string>;
  set(name: 'values', value: Record<string, string>): void;
  save_changes(): void;
  on(event: string, handler: () => void): void;
  off(event: string, handler: () => void): void;
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const root = element('div', 'marqueue-widget charts');
  const charts = element('div');
  const problem = element('p', 'marqueue-problem', '', { role: 'alert' });
  const summary = element('p', 'marqueue-summary', '', { 'aria-live': 'polite' });
  const controls = model.get('controls');
  if (controls) {
    const moved = (path: string, value: string): void => {
      model.set('values', { ...model.get('values'), [path]: value });
      model.save_changes();
    };
    root.append(controlBoxes(controls, model.get('values'), moved), summary, problem);
  }
  root.append(charts);
  el.append(root);

  const draw = (): void => {
    charts.replaceChildren();
    const data = model.get('data');
    if (data) drawGroup(charts, JSON.parse(data) as Group);
  };
  const say = (): void => {
    summary.textContent = model.get('summary') ?? '';
    problem.textContent = model.get('problem') ?? '';
  };
  const handlers: [string, () => void][] = [
    ['change:data', draw],
    ['change:summary', say],
    ['change:problem', say],
  ];
  handlers.forEach(([event, handler]) => model.on(event, handler));
  say();
  // Jupyter puts the element into the page afterwards; before, it has neither a width nor colours.
  let frame = 0;
  const begin = (): void => {
    if (el.isConnected) draw();
    else frame = requestAnimationFrame(begin);
  };
  begin();
  return () => {
    cancelAnimationFrame(frame);
    handlers.forEach(([event, handler]) => model.off(event, handler));
  };
}

export default { render };
