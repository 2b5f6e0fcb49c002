/** The script of a report: draws charts from the data in the page. Without it the page has its tables. */
import './report.css';
import { element } from '../charts/controls';
import { Corrupt, readData } from './data';
import { drawGrid } from './grid';
import { drawGroup } from './group';
import { openForPrint, openTarget } from './details';

const HELP =
  'Point at a picture to read its values; drag to zoom, shift and drag to move, double click to see all. Click a name to ' +
  'hide its curve, with shift to see it alone. With the keyboard: arrows, + and −, 0.';

function draw(): void {
  const data = readData(document.getElementById('report-data'));
  const hosts = [...document.querySelectorAll<HTMLElement>('[data-charts]')];
  for (const host of hosts) {
    const group = data.groups[Number(host.dataset.charts)];
    if (!group) throw new Corrupt(`there is no group ${host.dataset.charts} of charts`);
    drawGroup(host, group);
  }
  const grid = document.querySelector<HTMLElement>('[data-grid]');
  if (grid) {
    if (!data.grid) throw new Corrupt('there is no grid');
    drawGrid(grid, data.grid);
  }
  (hosts[0] ?? grid)?.prepend(element('p', 'caption', HELP));
  document.querySelectorAll<HTMLElement>('figure.static').forEach((each) => (each.hidden = true));
}

try {
  draw();
} catch (error) {
  const why = error instanceof Corrupt ? error.message : String(error);
  const alert = element('aside', 'notes', '', { role: 'alert' });
  alert.append(
    element('h2', '', 'The data of this report are corrupt'),
    element('p', '', `The pictures cannot be drawn from the data in this page: ${why}. The file was changed or cut off. Write it again from its result.`),
  );
  document.querySelectorAll('[data-charts], [data-grid]').forEach((each) => each.replaceChildren());
  document.querySelector('main')?.prepend(alert);
}
openTarget();
openForPrint();
