import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';
import { mockApi } from './tests/mock/plugin';

/** The page that `tilemark serve` embeds. In development the interface is mocked. */
export default defineConfig({
  define: { __REPORT__: 'false' },
  plugins: [svelte(), mockApi()],
  build: { target: 'es2022', outDir: 'dist', sourcemap: false, assetsInlineLimit: 0 },
  server: {
    proxy: process.env['TILEMARK_API']
      ? { '/api': process.env['TILEMARK_API'], '/healthz': process.env['TILEMARK_API'] }
      : {},
  },
  test: { include: ['tests/unit/**/*.test.ts'], environment: 'node' },
});
