// Files that leave the lab.

import { fileName, save, saveText } from '../../charts/download';
import type { Runs } from './runs.svelte';

export function saveToml(name: string, text: string): void {
  saveText(fileName(name, 'toml'), text, 'application/toml');
}

export function savePython(name: string, text: string): void {
  saveText(fileName(name, 'py'), text, 'text/x-python');
}

/** All samples of the runs that are shown: a row for each run, link or flow, and time. */
export function saveCsv(name: string, runs: Runs): void {
  const rows = ['run,subject,quantity,time_s,value'];
  for (const run of runs.runs) {
    const label = quoted(run.label);
    for (const link of run.compiled.links) {
      const t = run.samples.link(link.index, 't');
      for (const column of run.samples.columnsOf(link.index)) {
        if (column !== 't') rows.push(...lines(label, link.name, column, t, run.samples.link(link.index, column)));
      }
    }
    for (const flow of run.samples.flows) {
      const t = run.samples.flowTimes.values;
      rows.push(...lines(label, `flow ${flow}`, 'cwnd', t, run.samples.window(flow)));
      rows.push(...lines(label, `flow ${flow}`, 'rate', t, run.samples.rate(flow)));
    }
  }
  saveText(fileName(name, 'csv'), `${rows.join('\n')}\n`, 'text/csv');
}

function* lines(label: string, subject: string, quantity: string, t: Float64Array, values: Float64Array): Generator<string> {
  for (const [i, value] of values.entries()) {
    if (Number.isFinite(value)) yield `${label},${quoted(subject)},${quoted(quantity)},${t[i]},${value}`;
  }
}

function quoted(text: string): string {
  // A spreadsheet takes a text that begins so for a formula; names come from links that others made.
  const safe = /^[=+\-@]/.test(text) ? `'${text}` : text;
  return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** The charts that are seen, one below the other, as one picture. */
export async function savePng(name: string, host: HTMLElement): Promise<void> {
  const charts = [...host.querySelectorAll<HTMLElement>('.mq-chart')];
  const pictures = charts.flatMap((chart) => {
    const canvas = chart.querySelector('canvas');
    return canvas && canvas.width > 0 ? [{ canvas, title: chart.getAttribute('aria-label') ?? '' }] : [];
  });
  if (pictures.length === 0) return;
  const scale = devicePixelRatio;
  const head = 28 * scale;
  const style = getComputedStyle(document.documentElement);
  const all = document.createElement('canvas');
  all.width = Math.max(...pictures.map((each) => each.canvas.width));
  all.height = pictures.reduce((sum, each) => sum + each.canvas.height + head, 0);
  const draw = all.getContext('2d')!;
  draw.fillStyle = style.getPropertyValue('--mq-paper');
  draw.fillRect(0, 0, all.width, all.height);
  draw.fillStyle = style.getPropertyValue('--mq-ink');
  draw.font = `600 ${15 * scale}px system-ui, sans-serif`;
  let y = 0;
  for (const { canvas, title } of pictures) {
    draw.fillText(title, 8 * scale, y + 20 * scale);
    draw.drawImage(canvas, 0, y + head);
    y += canvas.height + head;
  }
  const blob = await new Promise<Blob | null>((done) => all.toBlob(done, 'image/png'));
  if (blob) save(fileName(name, 'png'), blob);
}
