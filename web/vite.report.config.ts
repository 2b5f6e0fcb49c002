import { defineConfig } from 'vite';

/** The script and the style sheet that every report contains: one file each, without modules. */
export default defineConfig({
  build: {
    outDir: 'built/report',
    emptyOutDir: true,
    target: 'es2022',
    lib: {
      entry: 'src/report/main.ts',
      formats: ['iife'],
      name: 'marqueueReport',
      fileName: () => 'report.js',
      cssFileName: 'report',
    },
  },
});
