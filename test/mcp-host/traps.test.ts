import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { counterServer, readCounter, tempDir } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { call, startTestHost } from './hosting.ts';

const script = fileURLToPath(new URL('./lingering-server.ts', import.meta.url));
const lingering = { type: 'stdio' as const, command: process.execPath, args: [script] };

it('standard error is always drained: a server that writes megabytes to it goes on answering', async () => {
  await using host = startTestHost({ servers: { loud: lingering } });
  const first = await call(host, 'mcp_loud__shout');
  expect(first).toMatchObject({ result: { content: [{ type: 'text' }] } });
  expect(await call(host, 'mcp_loud__shout')).toEqual(first);
});

it('an exit is the exit event, not the close of the pipes, which a grandchild may hold open', async () => {
  await using host = startTestHost({
    servers: { gone: lingering },
    tuning: { inputEndMs: 50, terminateMs: 50 },
  });
  const before = await call(host, 'mcp_gone__pid');
  expect(await call(host, 'mcp_gone__leave')).toMatchObject({ error: { code: 'outcome_unknown' } });
  const after = await call(host, 'mcp_gone__pid');
  expect(after).toMatchObject({ result: { content: [{ type: 'text' }] } });
  expect(after).not.toEqual(before);
});

it('concurrent get-or-create is single-flight: calls that meet a server that is starting share one process', async () => {
  await using dir = await tempDir();
  const file = join(dir.path, 'count');
  await using host = startTestHost({ servers: { a: counterServer(file) } });
  const eight = () => Promise.all(Array.from({ length: 8 }, () => call(host, 'mcp_a__count')));
  const pids = () => new Set(readCounter(file).map(({ pid }) => pid));
  await eight();
  expect(pids().size).toBe(1);
  await call(host, 'mcp_a__crash');
  await eight();
  expect(pids().size).toBe(2);
  expect(readCounter(file).filter(({ tool, at }) => tool === 'count' && at === 'start')).toHaveLength(16);
});
