// What `marqueue lab DIR` adds to the static pages: the results of a folder.

import type { Group } from '../../report/data';

export interface Figure { mean: number | null; half_width: number | null; n: number }

export interface FoundResult {
  /** Relative to the folder. */
  path: string;
  name: string;
  kind: string;
  started_at: string | null;
  settings: Record<string, string>;
  over?: Record<string, string[]> | null;
  /** Of a point of a sweep: the swept values. */
  at?: Record<string, string> | null;
  links: Record<string, Record<string, Figure>>;
  /** Address of its report. */
  report: string | null;
  scenario: boolean;
  remark: string | null;
  problem: string | null;
}

export interface Listing { folder: string; results: FoundResult[]; omitted: number }

export interface Unfinished {
  path: string;
  name: string;
  over: Record<string, string[]> | null;
  done: number;
  total: number | null;
  unit: string;
  running: boolean;
}

export interface Started { path: string; name: string; state: 'running' | 'done' | 'failed'; said: string }

export interface Comparison {
  /** Names of the scenarios. */
  a: string;
  b: string;
  settings: { path: string; a: string; b: string }[];
  method: string;
  remarks: string[];
  /** Curves of both, as in a report. */
  charts: Group;
  subjects: { name: string; figures: { title: string; values: [string, string, string]; excludes_zero: boolean | null }[] }[];
}

/** Whether there is a server to ask; static files have none. */
export function isServed(): boolean {
  return document.querySelector<HTMLMetaElement>('meta[name="marqueue-served"]')?.content === 'yes';
}

async function asked<T>(path: string, init?: RequestInit): Promise<T> {
  let response: Response;
  try {
    response = await fetch(`api/${path}`, init);
  } catch {
    throw new Error('The server of the lab does not answer. It ends with the command `marqueue lab`.');
  }
  const text = await response.text();
  if (response.ok) return JSON.parse(text) as T;
  throw new Error(messageIn(text));
}

/** Refusals are plain text, mistakes of scenarios JSON. */
function messageIn(text: string): string {
  try {
    return (JSON.parse(text) as { message: string }).message;
  } catch {
    return text.trim();
  }
}

const path = (value: string) => encodeURIComponent(value);

export const listResults = (): Promise<Listing> => asked('results');
export const progress = (): Promise<{ unfinished: Unfinished[]; started: Started[] }> => asked('progress');
export const scenarioOf = async (result: string): Promise<string> => (await asked<{ toml: string }>(`scenario?path=${path(result)}`)).toml;
export const compareResults = (a: string, b: string): Promise<Comparison> => asked(`compare?a=${path(a)}&b=${path(b)}`);
export const runHere = (toml: string): Promise<Started> =>
  asked('run', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ toml }) });
