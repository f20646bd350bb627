import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openCapabilities } from '@signalbox/mcp-host/capability-files';
import { tempDir } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { changeAfter, openCatalog, restTool } from '../support/capabilities/test-catalog.ts';
import { json, startWebServer } from '../support/capabilities/web-server.ts';

const names = (catalog: { tools(): readonly { name: string }[] }) => catalog.tools().map(({ name }) => name);

it('follows its files: new, changed, broken, mended and removed, each as a whole', async () => {
  await using server = await startWebServer(({ url }, response) => json(response, 200, { url }));
  const tool = (name: string, path: string) => restTool(name, { base_url: server.origin, path });
  await using at = await openCatalog(
    { 'a.json': tool('one', '/v1') },
    { allowHosts: [server.host], watch: true, debounceMs: 10 },
  );
  const { catalog } = at;
  expect(names(catalog)).toEqual(['one']);
  const listBefore = catalog.tools();

  await changeAfter(catalog, async () => {
    await writeFile(join(at.directory, '.draft'), JSON.stringify(tool('two', '/')));
    await rename(join(at.directory, '.draft'), join(at.directory, 'b.yaml'));
  });
  expect(names(catalog)).toEqual(['one', 'two']);
  expect(names({ tools: () => listBefore })).toEqual(['one']);

  await changeAfter(catalog, () => at.write({ 'a.json': '{\n  "name": "one",\n  "providers": [' }));
  expect(names(catalog)).toEqual(['one', 'two']);
  expect(await at.call('one')).toMatchObject({ result: { structuredContent: { url: '/v1' } } });
  expect(catalog.problems().map(({ message }) => message)).toEqual([
    expect.stringMatching(/a\.json:3:\d+: \(syntax\): .*; the version from before stays in use$/),
    ...catalog
      .problems()
      .slice(1)
      .map(() => expect.any(String)),
  ]);

  await changeAfter(catalog, () => at.write({ 'a.json': tool('one', '/v2') }));
  expect(catalog.problems()).toEqual([]);
  expect(await at.call('one')).toMatchObject({ result: { structuredContent: { url: '/v2' } } });

  await changeAfter(catalog, () => rm(join(at.directory, 'b.yaml')));
  expect(names(catalog)).toEqual(['one']);
  expect(await at.call('two')).toMatchObject({ error: { code: 'tool_not_found' } });
});

it('a call under way ends on the definition it began with', async () => {
  const held: (() => void)[] = [];
  await using server = await startWebServer(({ url }, response) => {
    held.push(() => json(response, 200, { url }));
  });
  const tool = (path: string) => restTool('slow', { base_url: server.origin, path, response_path: 'url' });
  await using at = await openCatalog({ 'a.json': tool('/old') }, { allowHosts: [server.host] });
  const old = at.call('slow');
  await expect.poll(() => held.length).toBe(1);
  await at.write({ 'a.json': tool('/new') });
  await at.catalog.reload();
  const young = at.call('slow');
  await expect.poll(() => held.length).toBe(2);
  for (const answer of held) answer();
  expect(await Promise.all([old, young])).toMatchObject([
    { result: { content: [{ text: '/old' }] } },
    { result: { content: [{ text: '/new' }] } },
  ]);
});

it('a reload that changes nothing tells nobody and keeps the list', async () => {
  await using at = await openCatalog({ 'a.json': restTool('one', { base_url: 'https://api.example' }) });
  let changes = 0;
  at.catalog.onChanged(() => changes++);
  const before = at.catalog.tools();
  await at.write({ 'a.json': `\n${JSON.stringify(restTool('one', { base_url: 'https://api.example' }))}` });
  await Promise.all([at.catalog.reload(), at.catalog.reload()]);
  expect(at.catalog.tools()).toBe(before);
  expect(changes).toBe(0);
});

it('of two tools with one name the first stays, and the problem names both places', async () => {
  await using at = await openCatalog({
    'b.yaml': 'name: same\nproviders:\n  primary: {service: rest, config: {base_url: https://b.example}}\n',
    'a.yaml':
      '---\nname: same\ndescription: the first\nproviders:\n  primary: {service: rest, config: {base_url: https://a.example}}\n',
  });
  expect(at.catalog.tools()).toMatchObject([{ name: 'same', description: 'the first' }]);
  const [problem] = at.catalog.problems();
  expect(problem).toEqual({
    tool: 'same',
    message: `${at.directory}/b.yaml:1:1: name: 'same' is defined at ${at.directory}/a.yaml:2:1 already, and that one stays`,
  });
  await rm(join(at.directory, 'a.yaml'));
  await at.catalog.reload();
  expect([names(at.catalog), at.catalog.problems()]).toEqual([['same'], []]);
});

it('reads files and folders, each once, and says what is not there', async () => {
  await using dir = await tempDir();
  const file = join(dir.path, 'one.yaml');
  await writeFile(file, JSON.stringify(restTool('one', { base_url: 'https://api.example' })));
  await writeFile(join(dir.path, 'notes.txt'), 'no tool');
  const paths = [file, dir.path, join(dir.path, 'gone')];
  await using catalog = await openCapabilities({ paths, env: {} });
  expect(names(catalog)).toEqual(['one']);
  expect(catalog.problems()).toEqual([
    { message: `${join(dir.path, 'gone')}: there is no such file or folder` },
  ]);
  await writeFile(file, 'x'.repeat(1024 * 1024 + 1));
  await catalog.reload();
  expect(names(catalog)).toEqual(['one']);
  expect(catalog.problems()[1]?.message).toMatch(
    /one\.yaml: is larger than 1048576 bytes; the version from before/,
  );
});

it('a file without end in its nesting is a problem like any other', async () => {
  await using at = await openCatalog({
    'a.json': '['.repeat(20_000),
    'b.json': restTool('one', { base_url: 'https://api.example' }),
  });
  expect(at.catalog.problems()[0]?.message).toContain(`${at.directory}/a.json`);
  expect(names(at.catalog)).toEqual(['one']);
  await at.catalog.reload();
  expect(names(at.catalog)).toEqual(['one']);
});

it('sees a folder that is made later', async () => {
  await using dir = await tempDir();
  const folder = join(dir.path, 'later');
  await using catalog = await openCapabilities({ paths: [folder], env: {}, watch: true, debounceMs: 10 });
  expect(catalog.problems()).toHaveLength(1);
  await mkdir(folder);
  await writeFile(
    join(folder, 'one.yaml'),
    JSON.stringify(restTool('one', { base_url: 'https://api.example' })),
  );
  await expect.poll(() => names(catalog)).toEqual(['one']);
  expect(catalog.problems()).toEqual([]);
});

it('changed files are read only when that is allowed, or asked for', async () => {
  await using directory = await tempDir();
  const write = (name: string) =>
    writeFile(
      join(directory.path, `${name}.yaml`),
      JSON.stringify(restTool(name, { base_url: 'https://api.example' })),
    );
  const asked: string[][] = [];
  await using catalog = await openCapabilities({
    paths: [directory.path],
    env: {},
    watch: true,
    debounceMs: 10,
    mayReload: () => {
      asked.push(names(catalog));
      return asked.length > 1;
    },
  });
  await write('one');
  await expect.poll(() => asked).toEqual([[]]);
  await write('two');
  await expect.poll(() => names(catalog)).toEqual(['one', 'two']);
  expect(asked).toEqual([[], []]);
});

it('a pattern of allowHosts that names no host is refused at once', async () => {
  await expect(openCapabilities({ paths: [], allowHosts: ['http://x'] })).rejects.toMatchObject({
    code: 'bad_config',
  });
});
