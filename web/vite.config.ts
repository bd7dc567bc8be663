import { svelte, vitePreprocess } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';
import { viteSingleFile } from 'vite-plugin-singlefile';

// One HTML file with everything in it: `xsp serve` sends it, and `xsp report` puts its recorded
// answers into it. `npm run dev` takes the answers of a server that runs beside it.
export default defineConfig({
  plugins: [svelte({ preprocess: vitePreprocess() }), viteSingleFile()],
  build: { target: 'es2022', emptyOutDir: true, reportCompressedSize: false },
  server: { proxy: { '/api': process.env['XSP_SERVE'] ?? 'http://127.0.0.1:7777' } },
  test: { include: ['src/**/*.test.ts'] },
});
