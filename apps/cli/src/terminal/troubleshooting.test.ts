import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const sources = globSync(['apps/cli/{bin,src}/**', 'packages/*/src/**/*.ts'], {
  cwd: root,
  withFileTypes: true,
  exclude: ['**/*.test.ts'],
})
  .filter((entry) => entry.isFile())
  .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
  .join('\n');

test('Each text that the page on troubles quotes is one that Signalbox prints.', () => {
  const page = readFileSync(join(root, 'docs/guide/troubleshooting.md'), 'utf8');
  const seen = [...page.matchAll(/^\| ([^|]+) \| [^|]+ \|$/gm)].map(([, cell]) => cell!);
  // Names of commands are for documented-commands.test.ts, and a shell has words of its own.
  const quoted = seen
    .filter((cell) => !cell.includes('(of your shell)'))
    .flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => text!))
    .filter((text) => !/^signalbox (?!needs)/.test(text));
  expect(quoted.length).toBeGreaterThan(30);
  const invented = quoted.filter((text) =>
    text.split('…').some((piece) => !sources.includes(piece.trim().replaceAll('’', "'"))),
  );
  expect(invented).toEqual([]);
});
