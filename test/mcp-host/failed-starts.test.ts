import { chmod, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServerStatus } from '@signalbox/mcp-host';
import { allProcesses } from '@signalbox/mcp-host/internal';
import { tempDir } from '@signalbox/testing';
import { expect, it, vi } from 'vitest';
import { call, startTestHost, type TestHost } from '../support/mcp-host/test-host.ts';
import { misbehavingServer } from '../support/mcp-host/test-servers.ts';
import { isRunning } from '../support/processes.ts';

/** A process whose command line is empty, as it is for a moment in each process that becomes another program. */
const nameless =
  "process.title = ''; require('fs').writeFileSync('/proc/self/comm', 'busy'); setInterval(() => {}, 1e6)";
/** A program that, like npx, has children do the work and waits for them. */
const slowNpx = `#!/bin/sh
echo "fetching $2 with $API_KEY" >&2
sleep 600 &
"${process.execPath}" -e "${nameless}" &
wait
`;

async function executable(path: string, text: string, mode = 0o755): Promise<string> {
  await writeFile(path, text);
  await chmod(path, mode);
  return path;
}

function statusOf(host: TestHost, name: string): ServerStatus {
  return host.servers().find((server) => server.name === name)!;
}

it('tells the operator of a start that timed out what ran, which processes it had, and the likely cause', async () => {
  await using dir = await tempDir();
  const command = await executable(join(dir.path, 'npx'), slowNpx);
  const slow = {
    type: 'stdio' as const,
    command,
    args: ['-y', '@scope/server', '--token', 'sekret-1'],
    env: { API_KEY: 'sekret-2' },
    startTimeoutMs: 600_000,
    maxRestarts: 0,
  };
  // The time for the start passes when all processes run.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  using _timers = { [Symbol.dispose]: () => vi.useRealTimers() };
  await using host = startTestHost({ servers: { slow } });
  const inventory = host.inventory();
  const running = async () => {
    const leader = statusOf(host, 'slow').pids[0];
    return (await allProcesses()).filter(({ group }) => group === leader).map(({ words }) => words.join(' '));
  };
  await vi.waitFor(async () =>
    expect(await running()).toEqual(expect.arrayContaining(['sleep 600', '[busy]'])),
  );
  expect(statusOf(host, 'slow')).toMatchObject({ state: 'starting', startingMs: expect.any(Number) });
  vi.advanceTimersByTime(600_000);
  vi.useRealTimers();
  const { problems } = await inventory;
  expect(problems).toEqual([
    { server: 'slow', message: expect.stringContaining('gave no answer within 600 s after its start') },
  ]);
  const status = statusOf(host, 'slow');
  expect(status.startFailure).toEqual({
    command: `${command} -y @scope/server --token [redacted]`,
    processes: [
      {
        pid: expect.any(Number),
        command: expect.stringContaining(`${command} -y @scope/server --token [redacted]`),
      },
      { pid: expect.any(Number), command: 'sleep 600' },
      { pid: expect.any(Number), command: '[busy]' },
    ],
    advice: expect.arrayContaining([expect.stringContaining('npx may still download the package')]),
  });
  expect(host.stderrTail('slow')).toBe('fetching @scope/server with [redacted]\n');
  expect(status.startFailure?.processes.map(({ pid }) => isRunning(pid))).toEqual(Array(3).fill(false));
  // An agent reads less.
  const { error } = (await call(host, 'mcp_slow__x')) as { error: { message: string } };
  expect(error.message).toContain('gave no answer within 600 s');
  expect(error.message).not.toMatch(/npx|sleep/);
});

it('names what is missing, and tries it once: the command, its interpreter, the right to execute it, or its working directory', async () => {
  await using dir = await tempDir();
  const at = (name: string) => join(dir.path, name);
  const server = (command: string, rest = {}) => ({
    ...{ type: 'stdio' as const, command, args: ['sekret'], ...rest },
  });
  await using host = startTestHost({
    servers: {
      command: server('no-such-program-here'),
      interpreter: server(await executable(at('run'), '#!/no/such/interpreter\n')),
      right: server(await executable(at('plain'), '', 0o644)),
      directory: server(process.execPath, { cwd: at('gone') }),
    },
  });
  await host.inventory();
  const told = host
    .servers()
    .map(({ name, lastError, startFailure }) => [name, lastError, startFailure?.advice[0]]);
  expect(told).toEqual([
    [
      'command',
      "its command 'no-such-program-here' was not found (ENOENT)",
      expect.stringContaining("no folder of PATH has a program 'no-such-program-here'"),
    ],
    [
      'interpreter',
      "its command 'run' needs a program that was not found (ENOENT)",
      expect.stringContaining(at('run')),
    ],
    ['right', "its command 'plain' may not be executed (EACCES)", expect.stringContaining('chmod +x')],
    ['directory', 'its working directory is not there (ENOENT)', expect.stringContaining(at('gone'))],
  ]);
  expect(host.servers().map(({ state, restarts }) => [state, restarts])).toEqual(
    Array(4).fill(['ejected', 0]),
  );
  expect(host.events.filter(({ event }) => event === 'server_backing_off')).toEqual([]);
  await executable(at('run'), '#!/bin/sh\nexit 3\n');
  expect(await host.reload('interpreter')).toMatchObject({
    state: 'backing_off',
    lastError: 'exited with code 3',
  });
});

it('tries a program again that has run before, which may be missing only while it is updated', async () => {
  await using dir = await tempDir();
  const command = join(dir.path, 'program');
  await symlink(process.execPath, command);
  await using host = startTestHost({ servers: { a: { ...misbehavingServer(), command, maxRestarts: 1 } } });
  await host.inventory();
  await rm(command);
  process.kill(host.servers()[0]!.pid!, 'SIGKILL');
  const reason = expect.stringContaining('was not found (ENOENT)');
  expect(await host.seen('server_ejected')).toMatchObject({ restarts: 1, reason });
});

it('gives a server that is asked for its revision no more time than others', async () => {
  await using dir = await tempDir();
  const command = await executable(
    join(dir.path, 'silent'),
    '#!/bin/sh\necho x >> "$0.starts"\nexec sleep 600\n',
  );
  const silent = {
    type: 'stdio' as const,
    command,
    protocol: 'auto' as const,
    startTimeoutMs: 400,
    maxRestarts: 0,
  };
  await using host = startTestHost({ servers: { silent } });
  await host.inventory();
  expect(statusOf(host, 'silent').lastError).toBe('gave no answer within 0.4 s after its start');
  expect(await readFile(`${command}.starts`, 'utf8')).toBe('x\n');
});

it('gives the listing of tools what the start has left of the time for both', async () => {
  const script = `
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line);
      if (method !== 'initialize') return;
      const serverInfo = { name: 'mute', version: '1' };
      const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo };
      console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });`;
  const mute = { type: 'stdio' as const, command: process.execPath, args: ['-e', script], maxRestarts: 0 };
  let clock = 0;
  // Each look at the clock finds that the time for a start has passed.
  const now = () => {
    clock += 60_000;
    return clock;
  };
  await using host = startTestHost({ servers: { mute }, now });
  await host.seen('server_ejected');
  expect(statusOf(host, 'mute').lastError).toMatch(/^the server started, but its tools could not be listed/);
});

it('tells that the folder of a server could not be made, and no path that agents could read', async () => {
  await using dir = await tempDir();
  await writeFile(join(dir.path, 'servers'), '');
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholder as people write it
  const args = ['${data}'];
  const noted = { type: 'stdio' as const, command: process.execPath, args, maxRestarts: 0 };
  await using host = startTestHost({ servers: { noted }, stateDir: dir.path });
  await host.inventory();
  const { lastError } = statusOf(host, 'noted');
  expect(lastError).toMatch(
    /^its folder under servers\/ in the data directory could not be made \(E[A-Z]+\)$/,
  );
});

it('tells the operator where a server behind HTTP was asked, without the part of its URL that may hold a key', async () => {
  const gone = { type: 'http' as const, url: 'http://127.0.0.1:1/mcp/sekret?key=sekret' };
  await using host = startTestHost({ servers: { gone } });
  await host.inventory();
  expect(statusOf(host, 'gone').startFailure).toEqual({
    origin: 'http://127.0.0.1:1',
    processes: [],
    advice: [],
  });
});

it('forgets the failure when a start succeeds', async () => {
  await using dir = await tempDir();
  const command = join(dir.path, 'server');
  await using host = startTestHost({ servers: { late: { type: 'stdio', command, maxRestarts: 0 } } });
  await host.inventory();
  expect(statusOf(host, 'late').startFailure).toBeDefined();
  const script = new URL('../support/mcp-host/environment-server.ts', import.meta.url).pathname;
  await executable(command, `#!/bin/sh\nexec ${process.execPath} ${script}\n`);
  expect(await host.reload('late')).toMatchObject({ state: 'ready', toolCount: 1 });
  expect(statusOf(host, 'late').startFailure).toBeUndefined();
});
