import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ToolCallResult } from '@signalbox/mcp-host/tool-calls';
import { tempDir } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { caller, note } from '../support/mcp-host/sharing.ts';
import { call, jsonResult, startTestHost } from '../support/mcp-host/test-host.ts';
import { misbehavingServer, npmServer } from '../support/mcp-host/test-servers.ts';

it('a server per worker never mixes what two agents keep in it, not even in its file in the state directory', async () => {
  await using dir = await tempDir();
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholder as people write it
  const env = { MEMORY_FILE_PATH: '${data}/memory-${instance}.jsonl' };
  const servers = { memory: { ...npmServer('memory'), env, share: 'worker' as const } };
  await using host = startTestHost({ servers, stateDir: dir.path });
  await host.inventory();
  const agents = ['rosa', 'Leo', 'rosa/../Leo'];
  const names = (outcome: ToolCallResult) =>
    (jsonResult(outcome) as { entities: { name: string }[] }).entities.map(({ name }) => name);
  for (const round of [1, 2]) {
    await Promise.all(
      agents.map((agent) => {
        const entities = [{ name: `${agent} ${round}`, entityType: 't', observations: [] }];
        return call(host, 'mcp_memory__create_entities', { entities }, caller(agent));
      }),
    );
  }
  for (const agent of agents) {
    const graph = await call(host, 'mcp_memory__read_graph', {}, caller(agent, 'another role'));
    expect(names(graph)).toEqual([`${agent} 1`, `${agent} 2`]);
  }
  const folder = join(dir.path, 'servers', 'memory');
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
  expect((await readdir(folder)).sort()).toEqual([
    expect.stringMatching(/^memory-worker-leo-[0-9a-f]{16}\.jsonl$/),
    'memory-worker-rosa.jsonl',
    expect.stringMatching(/^memory-worker-rosa____leo-[0-9a-f]{16}\.jsonl$/),
  ]);
  expect(host.servers()[0]).toMatchObject({ share: 'worker', instances: 3, state: 'ready' });
  expect(await call(host, 'mcp_memory__read_graph')).toMatchObject({
    error: { code: 'permission_denied', may_have_run: false },
  });
  expect(() => startTestHost({ servers })).toThrow('the host has none');
});

it('30 workers on three servers keep exactly three processes, and share what is in them', async () => {
  await using host = startTestHost({
    servers: { a: misbehavingServer(), b: misbehavingServer(), c: misbehavingServer() },
  });
  await host.inventory();
  const answers = await Promise.all(
    Array.from({ length: 90 }, (_, i) => note(host, 'abc'[i % 3]!, `${i}`, `worker-${Math.floor(i / 3)}`)),
  );
  const pids = host.servers().flatMap((server) => server.pids);
  expect(pids).toHaveLength(3);
  expect(new Set(answers.map(({ pid }) => pid))).toEqual(new Set(pids));
  expect(Math.max(...answers.map(({ notes }) => notes.length))).toBe(30);
  expect(host.events.filter(({ event }) => event === 'server_ready')).toHaveLength(3);
});
