import { defineConfig } from 'vite';

/** The script and the style sheet of the widgets in notebooks: one ES module, as anywidget wants it. */
export default defineConfig({
  build: {
    outDir: 'built/notebook',
    emptyOutDir: true,
    target: 'es2022',
    lib: {
      entry: 'src/notebook/main.ts',
      formats: ['es'],
      fileName: () => 'notebook.js',
      cssFileName: 'notebook',
    },
  },
});
