import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { counterServer, tempDir } from '@signalbox/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  type BombEndpoint,
  bombs,
  hastyStream,
  startBombEndpoint,
} from '../support/mcp-host/bomb-endpoint.ts';
import { call, startTestHost, type TestHost } from '../support/mcp-host/test-host.ts';
import { nonstandardServer, toolNamed } from '../support/mcp-host/test-servers.ts';

let endpoint: BombEndpoint;
let badList: BombEndpoint;
let badStream: BombEndpoint;
let directory: Awaited<ReturnType<typeof tempDir>>;
let host: TestHost;

beforeAll(async () => {
  directory = await tempDir();
  const list = join(directory.path, 'list.json');
  await writeFile(list, JSON.stringify({ pages: [[toolNamed('nodes'), toolNamed('vendor')]] }));
  endpoint = await startBombEndpoint();
  badList = await startBombEndpoint({ list: bombs.deflate! });
  badStream = await startBombEndpoint({ firstStream: bombs.endless_line! });
  const http = (url: string) => ({ type: 'http' as const, protocol: 'legacy' as const, url });
  const limits = { answerBytes: 100_000 };
  host = startTestHost({
    servers: {
      honest: counterServer(`${directory.path}/counter.jsonl`),
      odd: nonstandardServer(list),
      default: http(endpoint.url),
      narrow: { ...http(endpoint.url), limits },
      list: { ...http(badList.url), limits, maxRestarts: 0 },
      stream: { ...http(badStream.url), limits },
    },
  });
  await host.inventory();
});

afterAll(async () => {
  await host.close();
  for (const used of [endpoint, badList, badStream, directory]) await used[Symbol.asyncDispose]();
});

const honest = () => call(host, 'mcp_honest__echo', { text: 'x' });

it('refuses an answer of 64 MiB that comes as 64 KiB, by default, and serves other servers meanwhile', async () => {
  const [bomb, other] = await Promise.all([call(host, 'mcp_default__gzip'), honest()]);
  expect(bomb).toEqual({
    error: expect.objectContaining({
      code: 'result_too_large',
      message:
        "server 'default': the server sent a message of more than 8,388,608 bytes; raise limits.answerBytes of the server",
      may_have_run: true,
      retryable: false,
    }),
  });
  expect(other).toHaveProperty('result');
  expect(await call(host, 'mcp_default__honest')).toHaveProperty('result');
});

it('parses no answer of a million empty objects, over HTTP or standard output', async () => {
  for (const tool of ['mcp_default__nodes', 'mcp_odd__nodes']) {
    expect(await call(host, tool)).toMatchObject({
      error: { code: 'result_too_large', message: expect.stringContaining('more than 1,000,000 values') },
    });
  }
  expect(await call(host, 'mcp_odd__vendor')).toHaveProperty('result');
  expect(host.servers().find(({ name }) => name === 'odd')).toMatchObject({ restarts: 0 });
});

it.each(Object.keys(bombs).filter((name) => name !== 'gzip' && name !== 'nodes'))(
  'reads no more of an answer than its limit: %s',
  async (name) => {
    const before = endpoint.cutOff;
    expect(await call(host, `mcp_narrow__${name}`)).toMatchObject({
      error: { code: 'result_too_large', message: expect.stringContaining('more than 100,000 bytes') },
    });
    if (name.startsWith('endless')) await expect.poll(() => endpoint.cutOff).toBeGreaterThan(before);
    expect(await call(host, 'mcp_narrow__honest')).toHaveProperty('result');
  },
);

it('refuses an answer that is compressed more than once, however small it is', async () => {
  expect(await call(host, 'mcp_narrow__twice')).toMatchObject({
    error: { code: 'internal', message: expect.stringContaining('compressed its answer more than once') },
  });
});

it('shows no tools of a server whose list is a bomb, with the limit in its problem', async () => {
  const { problems, tools } = await host.inventory();
  expect(tools.some(({ name }) => name.startsWith('mcp_list__'))).toBe(false);
  expect(problems.find(({ server }) => server === 'list')?.message).toContain(
    'raise limits.answerBytes of the server',
  );
  expect(await honest()).toHaveProperty('result');
});

it('leaves a session whose stream of notices never ends a message, and begins a new one', async () => {
  const reason = expect.stringContaining('a message of more than 100,000 bytes');
  expect(await host.seen('server_backing_off', { server: 'stream' })).toMatchObject({ reason });
  expect(await call(host, 'mcp_stream__honest')).toHaveProperty('result');
});

it('opens a stream again only after a pause, even if the server asks for none', async () => {
  await using hasty = await startBombEndpoint({ everyStream: hastyStream });
  await using other = startTestHost({
    servers: { hasty: { type: 'http', protocol: 'legacy', url: hasty.url } },
  });
  await other.inventory();
  for (let i = 0; i < 100; i++) expect(await call(other, 'mcp_hasty__honest')).toHaveProperty('result');
  expect(hasty.streams).toBeLessThan(20);
});
