import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';
import { engine } from './engine.vite.ts';

// Relative addresses: the same files work at any path of any server.
export default defineConfig({
  root: 'src/lab',
  base: './',
  publicDir: '../../built/lab-data',
  plugins: [svelte(), engine()],
  build: {
    outDir: '../../built/lab',
    emptyOutDir: true,
    target: 'es2022',
    // The policy allows no data: addresses but for pictures.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
