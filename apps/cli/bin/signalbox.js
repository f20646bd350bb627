#!/usr/bin/env node
// Only syntax and modules that old versions of Node know: an old one must get an answer here, not crash in what it loads.
const [major, minor] = process.versions.node.split('.').map(Number);

if (major < 22 || (major === 22 && minor < 12)) {
  process.stderr.write(
    `signalbox needs Node 22.12 or newer; this is Node ${process.versions.node} (${process.execPath}).
In a checkout on Linux start it with bin/signalbox, which uses the Node that npm ci installs (npm run link puts it on your PATH); elsewhere install Node 22.12 or newer.
`,
  );
  process.exitCode = 2;
} else {
  Promise.all([import('node:fs'), import('node:module'), import('node:v8')])
    .then(([fs, { enableCompileCache }, { setFlagsFromString }]) => {
      // Compiled code counts only under the options with which it was compiled, and Node looks at them here.
      for (const option of savingOptions(process.argv.slice(2))) setFlagsFromString(option);
      const folder = compileCache(fs);
      if (folder !== undefined && enableCompileCache) enableCompileCache(folder);
      return import('../bundle/main.js');
    })
    .then(({ done }) => done)
    .catch(async (error) => {
      const isMissing = error.code === 'ERR_MODULE_NOT_FOUND' || error.code === 'MODULE_NOT_FOUND';
      process.stderr.write(`${isMissing ? await missingText(error) : error.stack}\n`);
      process.exitCode = 1;
    });
}

/**
 * Returns options of V8 with which a process that does little takes less memory. The compiler of the hottest code takes more
 * than the code of a shim is worth. The one below it stays: it takes memory only in a busy shim, whose time it halves. The
 * young generation of a supervisor need not grow.
 */
function savingOptions([command, part]) {
  if (command === 'up') return ['--no-opt', '--semi-space-growth-factor=1'];
  return command === 'wake-hook' || (command === 'worker' && part === 'mcp') ? ['--no-opt'] : [];
}

/**
 * Returns the folder in which Node keeps compiled code between runs: a command starts in half the time. Node runs what it
 * finds there, so it must be this user's own, and nobody else may write to it. Returns undefined if there is none, or if the
 * environment tells Node of another folder.
 */
function compileCache({ mkdirSync, statSync }) {
  if (process.env.NODE_COMPILE_CACHE) return undefined;
  const folder = `${process.env.XDG_CACHE_HOME || `${process.env.HOME}/.cache`}/signalbox`;
  if (!folder.startsWith('/')) return undefined;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { uid, mode } = statSync(folder);
    return uid === process.getuid() && (mode & 0o022) === 0 ? folder : undefined;
  } catch (_) {
    return undefined;
  }
}

async function missingText(error) {
  const { existsSync } = await import('node:fs');
  const { fileURLToPath } = await import('node:url');
  const root = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '');
  return existsSync(new URL('../bundle/main.js', import.meta.url))
    ? `signalbox in ${root} lacks a file that it loads: ${error.message}\nInstall and build it again there: npm ci && npm run build`
    : `signalbox in ${root} is not built yet.\nBuild it there: npm run build`;
}
