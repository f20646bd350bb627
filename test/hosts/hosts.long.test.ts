import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { counterServer, lastingPort, readCounter } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { listed, startSite } from '../support/hosts/hosts.ts';
import { startEndpoint } from '../support/mcp-host/http-endpoint.ts';

test('A broker that is killed in a call of another machine costs no call and doubles none.', async () => {
  const listen = `127.0.0.1:${await lastingPort()}`;
  await using other = await startSite({
    broker: { listen, data: './state' },
    hosts: { lab: ['scope'] },
    roles: { artist: { tools: ['scope:*'] } },
  });
  const counter = join(other.hub.directory, 'scope.jsonl');
  const file = join(other.hub.directory, 'gate');
  await other.host('lab', { scope: counterServer(counter) });
  const artist = await other.client('rosa', 'artist');
  await listed(artist, 'mcp_scope__gate');
  const running = artist.callTool({ name: 'mcp_scope__gate', arguments: { file } });
  await expect.poll(() => readCounter(counter).length, { timeout: 20_000 }).toBe(1);
  process.kill(other.hub.ready.broker.pid, 'SIGKILL');
  expect((await artist.callTool({ name: 'mcp_scope__count', arguments: {} })).isError).toBeFalsy();
  await writeFile(file, '');
  expect((await running).isError).toBeFalsy();
  const starts = readCounter(counter).filter(({ at }) => at === 'start');
  expect(starts.map(({ tool }) => tool)).toEqual(['gate', 'count']);
});

test('A tool of a capability file of another machine is listed and called like those of its servers.', async () => {
  await using service = await startEndpoint(async () => Response.json({ temperature: 21 }));
  await using other = await startSite({
    hosts: { lab: ['capabilities'] },
    roles: { artist: { tools: ['capabilities:*'] } },
  });
  const capability = join(other.hub.directory, 'weather.yaml');
  const config = { base_url: `http://127.0.0.1:${service.port}` };
  const tool = { name: 'weather', description: 'Tells the weather.' };
  await writeFile(
    capability,
    JSON.stringify({ ...tool, providers: { primary: { service: 'rest', config } } }),
  );
  const more = { capabilities: [capability], allowHosts: [`127.0.0.1:${service.port}`] };
  await other.host('lab', {}, { more });
  const artist = await other.client('rosa', 'artist');
  const name = 'mcp_capabilities__weather';
  await listed(artist, name);
  const { tools } = await artist.listTools();
  expect(tools.find((one) => one.name === name)).toMatchObject({ description: tool.description });
  const result = await artist.callTool({ name, arguments: {} });
  expect(JSON.stringify(result.content)).toContain('21');
});
