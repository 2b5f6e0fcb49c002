import type uPlot from 'uplot';
import type { Steered } from './keyboard';

/** What mouse and wheel do: a drag with shift moves the range, a double click shows everything. */
export function pointers(chart: Steered): uPlot.Cursor.Bind {
  return {
    mousedown: (u, _target, handler) => (event) => {
      if (event.shiftKey) drag(u, event, chart);
      else handler(event);
      return null;
    },
    dblclick: () => () => {
      chart.zoom(null, null);
      return null;
    },
  };
}

function drag(u: uPlot, start: MouseEvent, chart: Steered): void {
  let at = start.clientX;
  const move = (event: MouseEvent) => {
    chart.pan((at - event.clientX) / u.over.clientWidth);
    at = event.clientX;
  };
  document.addEventListener('mousemove', move);
  document.addEventListener('mouseup', () => document.removeEventListener('mousemove', move), { once: true });
  start.preventDefault();
}

/** Sideways (or with shift) it moves the range, with ctrl it zooms. Else the page scrolls. */
export function wheel(u: uPlot, event: WheelEvent, chart: Steered): void {
  const sideways = event.deltaX || (event.shiftKey ? event.deltaY : 0);
  if (event.ctrlKey) {
    const at = event.offsetX / u.over.clientWidth;
    const factor = event.deltaY < 0 ? 0.8 : 1.25;
    if (factor > 1) chart.zoomOut();
    else chart.zoomTo(at - at * factor, at + (1 - at) * factor);
  } else if (sideways) chart.pan(sideways / u.over.clientWidth);
  else return;
  event.preventDefault();
}
