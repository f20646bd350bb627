import { readdir, readFile } from 'node:fs/promises';
import { capabilityJsonSchema, openCapabilities } from '@signalbox/mcp-host/capability-files';
import { expect, it } from 'vitest';
import { openCatalog } from '../support/capabilities/test-catalog.ts';

const root = new URL('../../', import.meta.url);

it('the example files load without a problem', async () => {
  const folder = new URL('examples/capabilities/', root);
  await using catalog = await openCapabilities({
    paths: [folder.pathname],
    env: { GITHUB_TOKEN: 'for-the-test' },
  });
  expect(catalog.problems()).toEqual([]);
  expect(catalog.tools().map(({ name }) => name)).toEqual([
    'ethereum_block_number',
    'ethereum_balance',
    'github_open_issues',
    'check_grammar',
    'weather_now',
  ]);
  expect(await readdir(folder)).toHaveLength(4);
});

it('the JSON Schema for editors is the one of the code', async () => {
  const file = await readFile(new URL('docs/capabilities.schema.json', root), 'utf8');
  expect(JSON.parse(file)).toEqual(capabilityJsonSchema());
});

it('the file shown in the guide loads without a problem', async () => {
  const guide = await readFile(new URL('docs/guide/capability-files.md', root), 'utf8');
  const blocks = [...guide.matchAll(/```yaml\n(name:.*?)```/gs)].map(([, text]) => text!);
  expect(blocks.length).toBeGreaterThan(0);
  const files = Object.fromEntries(blocks.map((text, at) => [`${at}.yaml`, text]));
  await using at = await openCatalog(files, { env: { ISSUES_TOKEN: 'for-the-test' } });
  expect(at.catalog.problems()).toEqual([]);
  expect(at.catalog.tools()).toHaveLength(blocks.length);
});
