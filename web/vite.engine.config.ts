// The page by which tests and `make bench-lab` use the engine without the lab.
import { resolve } from 'node:path';
import { defineConfig } from 'vite';
import { engine } from './engine.vite.ts';

export default defineConfig({
  root: resolve(import.meta.dirname, 'tests/engine'),
  base: './',
  plugins: [engine()],
  build: { outDir: resolve(import.meta.dirname, 'built/engine-page'), emptyOutDir: true, target: 'es2022' },
});
