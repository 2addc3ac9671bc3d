import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';
import { mockApi } from './tests/mock/plugin';

/** A real server, if one is named. */
const api = process.env['TILEMARK_API'];
const proxy: Record<string, string> = api ? { '/api': api, '/healthz': api } : {};

/** The page that `tilemark serve` embeds. In development the interface is mocked. */
export default defineConfig({
  define: { __REPORT__: 'false' },
  plugins: [svelte(), mockApi()],
  build: { target: 'es2022', outDir: 'dist', sourcemap: false, assetsInlineLimit: 0, modulePreload: false },
  preview: { proxy },
  server: { proxy },
  test: { include: ['tests/unit/**/*.test.ts'], environment: 'node' },
});
