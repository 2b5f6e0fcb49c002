/** What keys do to a chart. */
export interface Steered {
  step(direction: 1 | -1): void;
  pan(share: number): void;
  zoomTo(from: number, to: number): void;
  zoomOut(): void;
  zoom(x: null, y: null): void;
}

/** Does what the key stands for; tells whether it stands for something. */
export function act(event: KeyboardEvent, chart: Steered): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const { key, shiftKey } = event;
  if (key === 'ArrowLeft') shiftKey ? chart.pan(-0.2) : chart.step(-1);
  else if (key === 'ArrowRight') shiftKey ? chart.pan(0.2) : chart.step(1);
  else if (key === '+' || key === '=') chart.zoomTo(0.25, 0.75);
  else if (key === '-' || key === '−') chart.zoomOut();
  else if (key === '0' || key === 'Escape') chart.zoom(null, null);
  else return false;
  return true;
}
