// node digests.mjs ENGINE: runs the plans on standard input, [[plan, seed], ...], in WebAssembly; prints the digests.
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const folder = path.resolve(process.argv[2]);
const { default: init, digest } = await import(pathToFileURL(path.join(folder, 'marqueue_wasm.js')).href);
await init({ module_or_path: fs.readFileSync(path.join(folder, 'marqueue_wasm_bg.wasm')) });
const plans = JSON.parse(fs.readFileSync(0, 'utf8'));
console.log(JSON.stringify(plans.map(([plan, seed]) => digest(plan, BigInt(seed)))));
