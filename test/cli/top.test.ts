import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectBroker, requestAddress } from '@signalbox/client';
import { type Ranking, rankTools } from '@signalbox/client/operator';
import { startTestBroker } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { cleanEnv, jsonOf, signalboxArgv } from '../support/cli/command-line.ts';
import { startWorkspace } from '../support/cli/workspace.ts';

interface Ranked {
  name: string;
  calls: number;
  errors: number;
  p95_ms: number | null;
  bytes: number;
}

test('tools top ranks the tools that were called, top shows what is busy, and both have the same figures after kill -9.', async () => {
  await using workspace = await startWorkspace();
  const place = ['--data', 'state'];
  const { env } = await workspace.agent('ann', 'researcher');
  const token = (await readFile(env.SIGNALBOX_TOKEN_FILE!, 'utf8')).trim();
  const { url } = workspace.ready.broker;
  await using ann = await connectBroker({ url, token, agent: requestAddress('ann') });
  const call = (tool: string, args: object) =>
    ann.request('orchestrator', 'mcp_request', { op: 'call', tool, arguments: args }, { timeoutMs: 60_000 });
  const path = join(workspace.directory, 'files', 'hello.txt');
  for (let n = 0; n < 3; n++) await call('mcp_files__read_text_file', { path });
  await call('mcp_files__read_text_file', { path: '/absent' });
  await call('mcp_everything__echo', { message: 'x'.repeat(5000) });
  await using operator = await workspace.operator();
  const ranked = async (by: Ranking = 'calls') =>
    (await rankTools(operator, 'orchestrator', { lastMs: 600_000, by })).tools;
  const ranking = async (by: string, ...more: string[]) => {
    const run = await workspace.run(['tools', 'top', '--json', '--by', by, ...more, ...place]);
    return (jsonOf(run) as { tools: Ranked[] }).tools;
  };
  // A sample is taken each second.
  const calls = async () => (await ranked()).reduce((sum, one) => sum + one.calls, 0);
  await expect.poll(calls).toBe(5);
  const before = await ranking('calls');
  expect(before).toMatchObject([
    { name: 'files:read_text_file', calls: 4, errors: 1, p95_ms: expect.any(Number) },
    { name: 'everything:echo', calls: 1, errors: 0 },
  ]);
  expect((await ranking('bytes', '--limit', '1', '--since', '10m')).map(({ name }) => name)).toEqual([
    'everything:echo',
  ]);
  expect((await ranked('errors'))[0]).toMatchObject({ name: 'files:read_text_file' });
  const { stdout } = await workspace.run(['tools', 'top', ...place]);
  expect(stdout).toMatch(/^TOOL +CALLS +ERRORS +P50 +P95 +P99 +REPLIES\nfiles:read_text_file +4 +1 /);
  const once = await workspace.run(['top', ...place]);
  expect(once).toMatchObject({ code: 0, stderr: '' });
  expect(once.stdout).toMatch(/a minute {2}\S+ stored, .*\n\nROLE +CONNECTED +WAITING/);
  expect(once.stdout).toMatch(/tools in the last 10 min\nTOOL .*\nfiles:read_text_file +4 +1 /);
  expect(once.stdout).not.toContain('\x1b');
  const json = jsonOf(await workspace.run(['top', '--json', ...place]));
  expect(json).toMatchObject({
    last_ms: 600_000,
    broker: { stored_per_minute: expect.any(Number), memory_bytes: expect.any(Number) },
    // It may not have acked the newest requests yet.
    roles: expect.arrayContaining([
      expect.objectContaining({ role: 'orchestrator', connections: 1, waiting: expect.any(Number) }),
    ]),
  });
  for (const [args, code] of [
    [['--since', '48h', ...place], 2],
    [['--by', 'luck', ...place], 2],
  ] as const)
    expect(await workspace.run(['tools', 'top', ...args])).toMatchObject({ code, stdout: '' });
  for (const command of [['top'], ['tools', 'top']])
    expect(await workspace.run(command, env)).toMatchObject({ code: 77, stdout: '' });

  // What was written before the kill is there after it, and goes on to be counted.
  const file = join(workspace.directory, 'state', 'samples-orchestrator.jsonl');
  await expect
    .poll(async () => (await readFile(file, 'utf8')).match(/mcp_everything__echo/g)?.length, {
      timeout: 15_000,
    })
    .toBeGreaterThan(0);
  for (const { pid } of [workspace.ready.orchestrator, workspace.ready.broker]) process.kill(pid, 'SIGKILL');
  // A broker or an orchestrator that is not back yet is an error.
  await expect.poll(() => calls().catch(String)).toBe(5);
  expect(await ranking('calls', '--since', '24h')).toEqual(before);
  expect(workspace.up.stderr()).not.toContain('samples');

  // The children are back on the same port, and tools work again.
  for (const child of ['broker', 'orchestrator']) {
    expect(workspace.up.stderr()).toContain(`the ${child} ended; starting it again`);
    await expect.poll(() => workspace.up.stderr()).toContain(`the ${child} is back`);
  }
  const echo = ['tools', 'call', 'everything:echo', '{"message":"again"}', '--timeout', '20s'];
  expect(await workspace.run(echo, env)).toMatchObject({ code: 0, stdout: 'Echo: again\n' });
});

test('On a terminal top is shown anew on a screen of its own, which Ctrl-C leaves as it was.', async () => {
  await using broker = await startTestBroker();
  const words = [process.execPath, ...signalboxArgv(['top', '--data', broker.dataDir])];
  // A terminal of 80 columns and 12 rows.
  const command = `stty cols 80 rows 12; exec ${words.map((word) => `'${word}'`).join(' ')}`;
  const child = spawn('script', ['-qec', command, '/dev/null'], { env: cleanEnv({ TERM: 'xterm' }) });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  const ended = once(child, 'close');
  const screens = () => shown.split('\x1b[H').slice(1);
  await expect.poll(() => screens().length, { timeout: 15_000 }).toBeGreaterThanOrEqual(2);
  expect(shown.startsWith('\x1b[?1049h\x1b[?25l')).toBe(true);
  const last = screens().at(-1)!.split('\r\n');
  expect(last.length).toBeLessThan(12);
  expect(last.map((line) => line.replace('\x1b[K', ''))).toContain('ROLE      CONNECTED  WAITING  OLDEST');
  expect(last.join()).toContain("the tools are not known: no orchestrator named 'orchestrator' is connected");
  child.stdin.write('\x03');
  expect(await ended).toEqual([0, null]);
  expect(shown.endsWith('\x1b[?25h\x1b[?1049l')).toBe(true);
});
