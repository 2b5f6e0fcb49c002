// Values inside a scenario, by path.

export type Step = string | number;
export type Path = readonly Step[];
export type Tree = { [key: string]: unknown };

export function isTable(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** The value at a path; undefined if there is none. */
export function valueAt(tree: unknown, path: Path): unknown {
  let here: unknown = tree;
  for (const step of path) {
    if (Array.isArray(here)) here = here[Number(step)];
    else if (isTable(here) && Object.hasOwn(here, step)) here = here[step];
    else return undefined;
  }
  return here;
}

/** A copy with another value at a path; undefined removes the key. Missing tables are added. */
export function withValue(tree: unknown, path: Path, value: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (Array.isArray(tree)) {
    const copy: unknown[] = [...tree];
    const changed = withValue(copy[Number(step)], rest, value);
    if (changed === undefined) copy.splice(Number(step), 1);
    else copy[Number(step)] = changed;
    return copy;
  }
  const table = isTable(tree) ? tree : {};
  const changed = withValue(table[step], rest, value);
  if (changed !== undefined) return { ...table, [step]: changed };
  return Object.fromEntries(Object.entries(table).filter(([key]) => key !== step));
}

/** The path as messages write it: entries of a list by their name if they have one. */
export function messagePath(tree: unknown, path: Path): string {
  const words: string[] = [];
  let here: unknown = tree;
  for (const step of path) {
    const next = valueAt(here, [step]);
    const named = Array.isArray(here) && isTable(next) && typeof next.name === 'string' ? next.name : null;
    words.push(named ?? String(step));
    here = next;
  }
  return words.join('.');
}
