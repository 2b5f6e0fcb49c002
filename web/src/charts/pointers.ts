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

/** Two fingers: the samples under them follow, which zooms and moves. One finger scrolls the page. */
export function pinch(u: uPlot, chart: Steered): void {
  let before: [number, number] | null = null;
  const follow = (event: TouchEvent) => {
    const now = fingers(u, event);
    if (now && before) {
      const factor = (before[1] - before[0]) / (now[1] - now[0]);
      const from = before[0] - now[0] * factor;
      chart.zoomTo(from, from + factor);
    }
    if (now) event.preventDefault();
    before = now;
  };
  u.over.addEventListener('touchstart', follow, { passive: false });
  u.over.addEventListener('touchmove', follow, { passive: false });
  u.over.addEventListener('touchend', follow);
  u.over.addEventListener('touchcancel', follow);
}

/** Fingers that are nearer to each other are taken as one: a share of the width. */
const LEAST = 0.02;

/** Where two fingers are, as shares of the width from the left; null if there are not two, side by side. */
function fingers(u: uPlot, { targetTouches }: TouchEvent): [number, number] | null {
  if (targetTouches.length !== 2) return null;
  const { left, width } = u.over.getBoundingClientRect();
  const [first, second] = [...targetTouches].map(({ clientX }) => (clientX - left) / width).sort((a, b) => a - b);
  return second! - first! < LEAST ? null : [first!, second!];
}
