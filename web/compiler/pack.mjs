// Makes the compiler's part of the lab: node pack.mjs WHEELS MARQUEUE ENGINE OUT
//
// WHEELS: the folder of wheels (requirements/lab.txt); MARQUEUE: the folder of the package marqueue;
// ENGINE: what wasm-bindgen made of crates/wasm; OUT: for pyodide's files, library.zip and packages.zip.

import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { loadPyodide } from 'pyodide';

const [wheels, marqueue, engine, out] = process.argv.slice(2);
const here = path.dirname(fileURLToPath(import.meta.url));
const pyodideFiles = ['pyodide.mjs', 'pyodide.asm.mjs', 'pyodide.asm.wasm'];

const { default: init, ...functions } = await import(pathToFileURL(path.resolve(engine, 'marqueue_wasm.js')).href);
await init({ module_or_path: fs.readFileSync(path.join(engine, 'marqueue_wasm_bg.wasm')) });

// Only what is whole is in its place.
const part = `${path.resolve(out)}.part`;
fs.rmSync(part, { recursive: true, force: true });
fs.mkdirSync(part, { recursive: true });

const python = await loadPyodide();
python.registerJsModule('marqueue_engine', functions);
python.FS.mkdirTree('/site/marqueue');
for (const wheel of fs.readdirSync(wheels).filter((name) => name.endsWith('.whl'))) {
  python.unpackArchive(new Uint8Array(fs.readFileSync(path.join(wheels, wheel))), 'zip', { extractDir: '/site' });
}
copyPython(marqueue, '/site/marqueue');
python.FS.writeFile('/site/marqueue/_core.py', fs.readFileSync(path.join(here, '_core.py')));
python.FS.writeFile('/site/marqueue_page.py', fs.readFileSync(path.join(here, 'marqueue_page.py')));
python.FS.mkdirTree('/out');
python.FS.mount(python.FS.filesystems.NODEFS, { root: part }, '/out');
python.runPython(fs.readFileSync(path.join(here, 'pack.py'), 'utf8'));

const pyodide = path.dirname(fileURLToPath(import.meta.resolve('pyodide')));
for (const name of pyodideFiles) fs.copyFileSync(path.join(pyodide, name), path.join(part, name));
// An index of no packages: nothing is ever loaded from elsewhere.
const { info } = JSON.parse(fs.readFileSync(path.join(pyodide, 'pyodide-lock.json'), 'utf8'));
fs.writeFileSync(path.join(part, 'pyodide-lock.json'), JSON.stringify({ info, packages: {} }));
fs.rmSync(out, { recursive: true, force: true });
fs.renameSync(part, out);

/** Copies sources and scenarios into Python's file system. */
function copyPython(from, to) {
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), `${to}/${entry.name}`];
    if (entry.isDirectory() && entry.name !== '__pycache__') {
      python.FS.mkdirTree(target);
      copyPython(source, target);
    } else if (/\.(py|toml)$/.test(entry.name)) {
      python.FS.writeFile(target, fs.readFileSync(source));
    }
  }
}
