import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';
import { viteSingleFile } from 'vite-plugin-singlefile';

/** The two heaviest charts alone, to be timed. Not shipped. */
export default defineConfig({
  root: 'tests/bench',
  define: { __REPORT__: 'true' },
  plugins: [svelte(), viteSingleFile()],
  build: { target: 'es2022', outDir: '../../dist-bench', emptyOutDir: true },
});
