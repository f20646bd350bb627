import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { counterServer, tempDir } from '@signalbox/testing';
import { expect, it, vi } from 'vitest';
import { call, startTestHost } from '../support/mcp-host/test-host.ts';
import { npmServer } from '../support/mcp-host/test-servers.ts';

it('reports progress of a running call, and only of that one', async () => {
  await using host = startTestHost({ servers: { everything: npmServer('everything') } });
  await host.inventory();
  const seen: Record<string, number[]> = { a: [], b: [] };
  const run = (label: string, steps: number) =>
    call(
      host,
      'mcp_everything__trigger-long-running-operation',
      { duration: 0.2, steps },
      { onProgress: ({ progress, total }) => seen[label]!.push(progress, total!) },
    );
  await Promise.all([run('a', 2), run('b', 3)]);
  expect(seen.a!.slice(0, 2)).toEqual([1, 2]);
  expect(seen.b!.slice(0, 4)).toEqual([1, 3, 2, 3]);
});

it('runs the calls of one server side by side', async () => {
  await using dir = await tempDir();
  await using host = startTestHost({ servers: { counter: counterServer(join(dir.path, 'count')) } });
  await host.inventory();
  const calls = Array.from({ length: 8 }, () => call(host, 'mcp_counter__gate', { calls: 8 }));
  for (const outcome of await Promise.all(calls)) {
    expect(outcome).toMatchObject({ result: { structuredContent: { highWater: 8 } } });
  }
  expect(host.servers()[0]!.inFlight).toBe(0);
});

it('counts the calls under way', async () => {
  await using dir = await tempDir();
  await using host = startTestHost({ servers: { counter: counterServer(join(dir.path, 'count')) } });
  await host.inventory();
  const file = join(dir.path, 'open');
  const calls = Array.from({ length: 3 }, () => call(host, 'mcp_counter__gate', { file }));
  await vi.waitFor(() => expect(host.servers()[0]!.inFlight).toBe(3));
  await writeFile(file, '');
  await Promise.all(calls);
  expect(host.servers()[0]!.inFlight).toBe(0);
});
