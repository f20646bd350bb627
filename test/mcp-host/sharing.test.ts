import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { McpHost } from '@signalbox/mcp-host';
import type { ToolCallResult } from '@signalbox/mcp-host/tool-calls';
import { tempDir } from '@signalbox/testing';
import { expect, it, vi } from 'vitest';
import { call, jsonResult, startTestHost } from '../support/mcp-host/test-host.ts';
import { misbehavingServer, npmServer } from '../support/mcp-host/test-servers.ts';
import { isRunning } from '../support/processes.ts';

const caller = (agent: string, role = 'any') => ({ caller: { agent, role } });
const note = async (host: McpHost, server: string, text: string, agent: string, role = 'any') =>
  jsonResult(await call(host, `mcp_${server}__note`, { text }, caller(agent, role))) as {
    pid: number;
    notes: string[];
  };

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

it('keeps a process per role, and no more processes than allowed: the one idle longest makes room', async () => {
  const servers = { r: { ...misbehavingServer(), share: 'role' as const } };
  let now = 0;
  await using host = startTestHost({ servers, maxProcesses: 2, now: () => ++now });
  expect((await host.inventory()).problems).toHaveLength(1);
  const one = await note(host, 'r', '1', 'rosa', 'one');
  expect(await note(host, 'r', '2', 'leo', 'one')).toEqual({ pid: one.pid, notes: ['1', '2'] });
  const two = await note(host, 'r', '1', 'kim', 'two');
  expect(two).toEqual({ pid: expect.any(Number), notes: ['1'] });
  await note(host, 'r', '3', 'rosa', 'one');

  const three = await note(host, 'r', '1', 'ada', 'three');
  expect(host.events.at(-2)).toMatchObject({ instance: 'role:two', reason: 'slot_needed' });
  expect([one.pid, two.pid, three.pid].map(isRunning)).toEqual([true, false, true]);

  const abort = new AbortController();
  const hang = (role: string) =>
    call(host, 'mcp_r__hang', {}, { signal: abort.signal, ...caller('x', role) });
  const hanging = [hang('one'), hang('three')];
  await vi.waitFor(() => expect(host.servers()[0]).toMatchObject({ inFlight: 2, instances: 2 }));
  expect(await call(host, 'mcp_r__note', {}, caller('kim', 'two'))).toMatchObject({
    error: { code: 'quota_exceeded', retryable: true, may_have_run: false },
  });
  abort.abort();
  await Promise.all(hanging);
  expect(await note(host, 'r', 'anew', 'kim', 'two')).toMatchObject({ notes: ['anew'] });
});

it('lists the tools of more servers than may run at a time, one after the other', async () => {
  await using host = startTestHost({
    servers: {
      a: misbehavingServer(),
      b: misbehavingServer(),
      c: { ...misbehavingServer(), share: 'worker' },
    },
    maxProcesses: 1,
  });
  const { tools, problems } = await host.inventory();
  expect(tools).toHaveLength(24);
  expect(problems.map(({ tool }) => tool)).toEqual(['bad', 'bad', 'bad']);
  expect(host.servers().flatMap(({ pids }) => pids).length).toBeLessThanOrEqual(1);
  const { pid } = await note(host, 'a', 'x', 'rosa');
  expect(host.servers().flatMap(({ pids }) => pids)).toEqual([pid]);
});
