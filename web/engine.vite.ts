import { cpSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Plugin } from 'vite';

/** What a page with the engine needs of Vite: workers that are modules, and the compiler's files in `compiler/`. */
export function engine(): Plugin {
  let out = '';
  return {
    name: 'marqueue-engine',
    config: () => ({ worker: { format: 'es' as const } }),
    configResolved(config) {
      out = resolve(config.root, config.build.outDir);
    },
    writeBundle() {
      cpSync(resolve(import.meta.dirname, 'built/compiler'), resolve(out, 'compiler'), { recursive: true });
    },
  };
}
