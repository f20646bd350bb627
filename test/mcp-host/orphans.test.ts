import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { programOptions, tempDir } from '@signalbox/testing';
import { expect, it, vi } from 'vitest';
import { startTestHost } from '../support/mcp-host/test-host.ts';
import { misbehavingServer } from '../support/mcp-host/test-servers.ts';
import { isRunning } from '../support/processes.ts';

const main = fileURLToPath(new URL('../support/mcp-host/host-main.ts', import.meta.url));
const quick = { inputEndMs: 50, terminateMs: 100 };

/** A host in a process of its own, with one stubborn server. */
async function otherHost(stateDir: string): Promise<{ child: ChildProcess; server: number }> {
  const args = [...programOptions(), main, '--state', stateDir];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [pid] = (await once(child.stdout, 'data')).map(Number);
  return { child, server: pid! };
}

it('ends the servers that outlived a killed host, by id and start, and only when that host is gone', async () => {
  await using dir = await tempDir();
  const path = join(dir.path, 'servers.json');
  const { child, server } = await otherHost(dir.path);
  const bystander = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { detached: true });
  try {
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const [record] = JSON.parse(await readFile(path, 'utf8')).servers;
    expect(record).toMatchObject({ pid: server, server: 'stubborn', owner: { pid: child.pid } });
    await startTestHost({ servers: {}, stateDir: dir.path, tuning: quick }).close();
    expect(isRunning(server)).toBe(true);

    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
    expect(isRunning(server)).toBe(true);
    // A later process with the id of a server that is gone, as far as the record tells.
    const start = `${record.start} earlier`;
    const reused = { ...record, mark: randomUUID(), pid: bystander.pid, start };
    await writeFile(path, JSON.stringify({ servers: [record, reused] }));

    await using host = startTestHost({
      servers: { next: misbehavingServer() },
      stateDir: dir.path,
      tuning: quick,
    });
    await host.inventory();
    expect(isRunning(server)).toBe(false);
    expect(isRunning(bystander.pid!)).toBe(true);
    expect(host.events[0]).toEqual({
      event: 'server_reaped',
      server: 'stubborn',
      pid: server,
      signal: 'SIGKILL',
    });
    expect(host.events.filter(({ event }) => event === 'server_reaped')).toHaveLength(1);
    const { servers } = JSON.parse(await readFile(path, 'utf8'));
    expect(servers).toEqual([expect.objectContaining({ pid: host.servers()[0]!.pid, server: 'next' })]);
    await host.close();
    await vi.waitFor(async () => expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({ servers: [] }));
  } finally {
    child.kill('SIGKILL');
    bystander.kill('SIGKILL');
    if (isRunning(server)) process.kill(-server, 'SIGKILL');
  }
});

it('reports records that are damaged, and starts all the same', async () => {
  await using dir = await tempDir();
  await writeFile(join(dir.path, 'servers.json'), '{"servers": [{"pid": 1, "start": "x"');
  await using host = startTestHost({ servers: { a: misbehavingServer() }, stateDir: dir.path });
  expect((await host.inventory()).tools).toHaveLength(8);
  expect(host.events[0]).toMatchObject({
    event: 'process_records_unreadable',
    reason: expect.stringMatching(/servers\.json is damaged$/),
  });
  const { servers } = JSON.parse(await readFile(join(dir.path, 'servers.json'), 'utf8'));
  expect(servers).toMatchObject([{ server: 'a', pid: host.servers()[0]!.pid }]);
});
