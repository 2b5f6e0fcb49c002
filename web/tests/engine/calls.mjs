// node calls.mjs ENGINE COMPILER: asks the compiler what a page may ask; standard input has [[name, argument], ...].
// Prints the answers.
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [engine, compiler] = process.argv.slice(2).map((folder) => path.resolve(folder));
const { default: init, ...functions } = await import(pathToFileURL(path.join(engine, 'marqueue_wasm.js')).href);
await init({ module_or_path: fs.readFileSync(path.join(engine, 'marqueue_wasm_bg.wasm')) });
const { loadPyodide } = await import(pathToFileURL(path.join(compiler, 'pyodide.mjs')).href);
const python = await loadPyodide({ indexURL: compiler, stdLibURL: path.join(compiler, 'library.zip') });
python.registerJsModule('marqueue_engine', functions);
const packages = new Uint8Array(fs.readFileSync(path.join(compiler, 'packages.zip')));
python.unpackArchive(packages, 'zip', { extractDir: python.runPython('import site; site.getsitepackages()[0]') });
const { call } = python.pyimport('marqueue_page');
const calls = JSON.parse(fs.readFileSync(0, 'utf8'));
console.log(JSON.stringify(calls.map(([name, argument]) => JSON.parse(call(name, JSON.stringify(argument))))));
