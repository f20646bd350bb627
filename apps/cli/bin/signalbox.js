#!/usr/bin/env node
// Only syntax and modules that old versions of Node know: an old one must get an answer here, not crash in what it loads.
const [major, minor] = process.versions.node.split('.').map(Number);
const fromSource = process.execArgv.indexOf('--conditions=@signalbox/source') >= 0;

if (major < 22 || (major === 22 && minor < 12)) {
  process.stderr.write(
    `signalbox needs Node 22.12 or newer; this is Node ${process.versions.node} (${process.execPath}).
Start it with bin/signalbox, which uses the Node that npm ci installs on Linux (npm run link puts it on your PATH), or install Node 22.12 or newer.
`,
  );
  process.exitCode = 2;
} else {
  // Compiled code is kept between runs, in a folder of this user's own: a command starts in half the time.
  const cacheHome = process.env.XDG_CACHE_HOME || `${process.env.HOME}/.cache`;
  import('node:module')
    .then(({ enableCompileCache }) => {
      if (cacheHome.startsWith('/')) enableCompileCache?.(`${cacheHome}/signalbox`);
      return import(fromSource ? '../src/main.ts' : '../dist/main.js');
    })
    .catch(async (error) => {
      const isMissing = !fromSource && error.code === 'ERR_MODULE_NOT_FOUND';
      process.stderr.write(`${isMissing ? await missingText(error) : error.stack}\n`);
      process.exitCode = 1;
    });
}

async function missingText(error) {
  const { existsSync } = await import('node:fs');
  const { fileURLToPath } = await import('node:url');
  const root = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '');
  return existsSync(new URL('../dist/main.js', import.meta.url))
    ? `signalbox in ${root} lacks a file that it loads: ${error.message}\nInstall and build it again there: npm ci && npm run build`
    : `signalbox in ${root} is not built yet.\nBuild it there: npm run build`;
}
