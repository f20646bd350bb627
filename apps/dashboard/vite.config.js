import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

/** The page has relative addresses: it is served below `/ui/`. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: './',
  logLevel: 'warn',
  resolve: { conditions: ['@signalbox/source', 'module', 'browser', 'production'] },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2023',
    // No script may stand in the page itself, and no file in an address.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    // On a busy machine a build is slow, which is nobody's fault.
    rolldownOptions: { checks: { pluginTimings: false } },
  },
});
