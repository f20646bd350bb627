#!/usr/bin/env node
// Only syntax and modules that old versions of Node know: an old one must get an answer here, not crash in what it loads.
const [major, minor] = process.versions.node.split('.').map(Number);
const fromSource = process.execArgv.indexOf('--conditions=@signalbox/source') >= 0;

if (major < 22 || (major === 22 && minor < 12)) {
  process.stderr.write(
    `signalbox needs Node 22.12 or newer; this is Node ${process.versions.node} (${process.execPath}).
Run it through npm (npx signalbox, or an npm script), which brings its own Node 24, or install Node 22.12 or newer.
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
    .catch((error) => {
      const unbuilt = !fromSource && error.code === 'ERR_MODULE_NOT_FOUND';
      const text = unbuilt ? `${error.message}\nBuild it first: npm run build` : error.stack;
      process.stderr.write(`${text}\n`);
      process.exitCode = 1;
    });
}
