import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';

// Programs of tests preload this file: packages are taken from the bundle whose modules the file `list` of our URL names.
const list = pathToFileURL(new URL(import.meta.url).searchParams.get('list')!);
const files: Record<string, string> = JSON.parse(readFileSync(list, 'utf8'));

registerHooks({
  resolve(specifier, context, next) {
    const file = Object.hasOwn(files, specifier) ? files[specifier] : undefined;
    if (file === undefined) return next(specifier, context);
    return { url: new URL(file, list).href, format: 'module', shortCircuit: true };
  },
});
