import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { programOptions } from '@signalbox/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cleanEnv, startDaemon } from '../support/cli/command-line.ts';
import { startWorkspace, type Workspace } from '../support/cli/workspace.ts';
import { type Collector, causesIn, startCollector } from '../support/traces/collector.ts';
import { metaServer } from '../support/traces/meta-server-config.ts';

let collector: Collector;
let site: Workspace;

beforeAll(async () => {
  collector = await startCollector();
  const config = JSON.stringify({
    broker: { listen: '127.0.0.1:0', data: './state' },
    mcpServers: { m: metaServer() },
  });
  site = await startWorkspace(() => config, { face: true, env: collector.env() });
});
afterAll(async () => {
  await site?.[Symbol.asyncDispose]();
  await collector?.[Symbol.asyncDispose]();
});

test('an ask is one trace from the asking process to the answering one and back', async () => {
  const walt = await site.agent('walt', 'worker');
  await using _echo = await startDaemon(['worker', 'echo'], {
    cwd: site.directory,
    env: { ...walt.env, ...collector.env('walt') },
  });
  const rosa = await site.agent('rosa', 'worker');
  const asked = await site.run(['ask', 'walt', 'hunter2?'], { ...rosa.env, ...collector.env('rosa') });
  expect(asked).toMatchObject({ code: 0, stdout: expect.stringContaining('hunter2?') });
  const begun = () =>
    collector.spans().find(({ process, name }) => process === 'rosa' && name === 'send walt');
  await expect.poll(begun).toBeDefined();
  const { traceId } = begun()!;
  await expect.poll(() => collector.trace(traceId).size).toBe(4);
  expect(causesIn(collector.trace(traceId))).toEqual({
    'rosa: producer send walt': undefined,
    'walt: consumer process walt': 'rosa: producer send walt',
    'walt: producer send rosa': 'walt: consumer process walt',
    'rosa: client receive rosa': 'walt: producer send rosa',
  });
  expect(JSON.stringify(collector.spans())).not.toContain('hunter2');
});

test('a task that comes again is linked to its first attempt', async () => {
  const flaky = await site.agent('nemo', 'worker');
  const token = (await readFile(flaky.env.SIGNALBOX_TOKEN_FILE!, 'utf8')).trim();
  const script = fileURLToPath(new URL('../support/traces/flaky-worker-main.ts', import.meta.url));
  const args = [...programOptions(), script, flaky.env.SIGNALBOX_URL!, 'nemo', token];
  const worker = spawn(process.execPath, args, { env: cleanEnv(collector.env('nemo')) });
  const ended = once(worker, 'exit');
  await once(worker.stdout, 'data');
  const rosa = await site.agent('rosa', 'worker');
  await site.run(['send', 'nemo', 'work', '--kind', 'task'], { ...rosa.env });
  const attempts = () =>
    collector.spans().filter(({ process, name }) => process === 'nemo' && name === 'process nemo');
  await expect.poll(() => attempts().length).toBe(2);
  // Each span is sent by itself, and they may come in any order.
  const first = attempts().find(({ attributes }) => attributes['error.type'] === 'handler_failed');
  const second = attempts().find((attempt) => attempt !== first);
  expect(first).toHaveProperty('links', []);
  expect(second!.links).toEqual([first!.spanId]);
  worker.kill();
  expect(await ended).toEqual([0, null]);
});
