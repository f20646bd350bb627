import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { checkConfigText } from './load-config.ts';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const pages = globSync(['README.md', 'docs/**/*.md', '{packages,apps,examples}/**/README.md'], {
  cwd: root,
  exclude: ['**/node_modules/**'],
});
const blocks = pages.flatMap((page) => {
  const text = readFileSync(join(root, page), 'utf8');
  return [...text.matchAll(/^```yaml\n(.*?)^```/gms)].map((match) => ({
    place: `${page}:${text.slice(0, match.index).split('\n').length}`,
    text: match[1]!,
  }));
});
/** The tests of capability files read those. */
const isCapabilityFile = ({ text }: { text: string }): boolean => text.startsWith('name: ');

/** A secret that every key takes, also those that want one in the form of Standard Webhooks. */
const secret = 'whsec_c2lnbmFsYm94LXNlY3JldC1vZi10ZXN0cw==';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'signalbox-documented-'));
  const servers = ['memory', 'browser', 'huge'].map((name) => [name, { command: name }]);
  const imported = JSON.stringify({ mcpServers: Object.fromEntries(servers) });
  for (const file of ['mcp.json', '.mcp.json']) writeFileSync(join(folder, file), imported);
});
afterAll(() => rmSync(folder, { recursive: true }));

test('Each configuration that a document shows is understood, with what it names in place.', async () => {
  const shown = blocks.filter((block) => !isCapabilityFile(block));
  expect(shown.length).toBeGreaterThan(15);
  for (const { text } of shown) {
    for (const [, file = ''] of text.matchAll(/\$\{file:(\.\/[^}]+)\}/g)) {
      expect(dirname(join(folder, file))).toBe(folder);
      writeFileSync(join(folder, file), secret, { mode: 0o600 });
    }
    for (const [, name = ''] of text.matchAll(/\$\{env:(\w+)\}/g))
      vi.stubEnv(name, name.includes('POSTGRES') ? 'postgres://db.example.com/signalbox' : secret);
  }
  const refused = await Promise.all(
    shown.map(({ place, text }) =>
      checkConfigText(text, join(folder, 'signalbox.yaml')).then(
        () => [],
        (error: Error) => [`${place}: ${error.message}`],
      ),
    ),
  );
  expect(refused.flat()).toEqual([]);
});
