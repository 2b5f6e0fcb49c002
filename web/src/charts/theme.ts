/** Calls back when the colours of the page change: dark or light, and light for paper. */
const listeners = new Set<() => void>();
const changed = () => listeners.forEach((each) => each());

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
for (const [event, paper] of [['beforeprint', true], ['afterprint', false]] as const) {
  addEventListener(event, () => {
    document.documentElement.classList.toggle('mq-print', paper);
    changed();
  });
}

export function onTheme(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
