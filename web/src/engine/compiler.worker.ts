/// <reference lib="webworker" />
// The scenario compiler: the Python package marqueue.scenario under Pyodide. What it asks the engine is answered by
// crates/wasm.

import type { loadPyodide } from 'pyodide';
import init, * as functions from '../../built/engine/marqueue_wasm.js';
import wasm from '../../built/engine/marqueue_wasm_bg.wasm?url';
import type { Compilation, Example, Theory } from './protocol';
import { answer } from './rpc';

declare const self: DedicatedWorkerGlobalScope;

/** `Theory` as JSON has it. */
type Said = Omit<Theory, 'fluid' | 'nyquist' | 'margins'> & {
  fluid?: Record<keyof NonNullable<Theory['fluid']>, number[]>;
  nyquist?: Record<keyof NonNullable<Theory['nyquist']>, number[]>;
  margins?: { gain: number | null; phase: number | null; delay: number | null; stable: boolean };
};

let call: (name: string, argument: string) => string;

/** Loads Python and the compiler from the folder that `web/compiler/pack.mjs` makes. */
async function load(folder: string): Promise<void> {
  const [pyodide, packages] = await Promise.all([
    import(/* @vite-ignore */ `${folder}pyodide.mjs`) as Promise<{ loadPyodide: typeof loadPyodide }>,
    fetched(`${folder}packages.zip`),
    init({ module_or_path: wasm }),
  ]);
  const python = await pyodide.loadPyodide({ indexURL: folder, stdLibURL: `${folder}library.zip` });
  python.registerJsModule('marqueue_engine', functions);
  python.unpackArchive(packages, 'zip', { extractDir: python.runPython('import site; site.getsitepackages()[0]') as string });
  call = (python.pyimport('marqueue_page') as { call: typeof call }).call;
}

async function fetched(url: string): Promise<ArrayBuffer> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} cannot be loaded: ${response.status} ${response.statusText}`);
  return response.arrayBuffer();
}

function ask<T>(name: string, argument: unknown = null): T {
  const said = JSON.parse(call(name, JSON.stringify(argument))) as { value: T } | { error: string };
  if ('error' in said) throw new Error(said.error);
  return said.value;
}

/** JSON has no columns and no infinity. */
function theory(toml: string): Theory {
  const { fluid, nyquist, margins, ...rest } = ask<Said>('theory', toml);
  const found: Theory = rest;
  if (fluid) found.fluid = columns(fluid);
  if (nyquist) found.nyquist = columns(nyquist);
  if (margins) {
    const { gain, phase, delay, stable } = margins;
    found.margins = { gain: gain ?? Infinity, phase: phase ?? Infinity, delay: delay ?? Infinity, stable };
  }
  return found;
}

function columns<K extends string>(lists: Record<K, number[]>): Record<K, Float64Array> {
  const entries = Object.entries<number[]>(lists).map(([name, list]) => [name, Float64Array.from(list)]);
  return Object.fromEntries(entries) as Record<K, Float64Array>;
}

answer(self, {
  load,
  compile: (toml: string): Compilation => ask('compile', toml),
  schema: (): object => ask('schema'),
  examples: (): Example[] => ask('examples'),
  to_toml: (json: object): string => ask('to_toml', json),
  to_python: (json: object): string => ask('to_python', json),
  theory,
  stability: (toml: string, overrides: string[][]): (number | null)[] => ask('stability', { toml, overrides }),
});
