import { existsSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { tempDir } from '@signalbox/testing';
import { openRunFace, startCleanupProcess, superviseAgent } from '@signalbox/worker/internal';
import { expect, test } from 'vitest';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';
import { testAgent } from '../support/runner/supervise-options.ts';
import { connectShim, newConsumer } from '../support/worker/shared-face.ts';

const sleeps = {
  program: '/bin/sh',
  argv: ['sh', '-c', 'trap "" TERM; echo $SIGNALBOX_FACE; exec sleep 600'],
};

/** Two agents whose processes sleep, and end only by KILL, and a supervisor's face for both; the tests speak as their shims. */
async function startRunFace(toolsLostMs: number) {
  await using starting = new AsyncDisposableStack();
  const { path } = starting.use(await tempDir());
  const root = join(path, 'work');
  await mkdir(root);
  const stack = starting.use(await startToolStack());
  const cleanup = starting.use(startCleanupProcess(5000));
  const { url } = stack.broker;
  const face = starting.use(
    await openRunFace({ roots: [{ path: root }], cleanup, connect: { url }, face: { version: '1' } }),
  );
  const printed: string[] = [];
  const output = { write: async (chunk: Uint8Array) => void printed.push(String(chunk)) };
  const agents = ['rosa', 'wim'].map((agent) => {
    const setup = { faceSocket: face.socket };
    const run = testAgent(stack.broker, cleanup, { agent, root, ...sleeps, setup });
    const options = { ...run.options, face, toolsLostMs, output: { stdout: output, stderr: output } };
    return { ...run, supervised: superviseAgent(options) };
  });
  const stop = async () => {
    for (const { supervised } of agents) supervised.kill();
    await Promise.all(agents.map(({ supervised }) => supervised.ended));
  };
  starting.defer(stop);
  const resources = starting.move();
  await expect.poll(() => agents.map(({ events }) => events[0]?.event)).toEqual(['started', 'started']);
  const [rosa, wim] = agents.map(({ events, tokens, supervised }) => ({
    events,
    askToEnd: () => supervised.stop(),
    names: () => events.map(({ event }) => event),
    shim: (consumer = newConsumer()) => connectShim(face.socket, { token: tokens[0]!, consumer }),
  }));
  return {
    stack,
    face,
    root,
    printed,
    rosa: rosa!,
    wim: wim!,
    stop,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

test('the supervisor serves its agents itself, and knows at once when one of them has listed its tools', async () => {
  await using site = await startRunFace(60_000);
  await using shim = await site.rosa.shim();
  shim.request(2, 'tools/list');
  await shim.line('id', 2);
  // No time passes between the answer and the event.
  expect(site.rosa.names()).toEqual(['started', 'ready']);
  expect(site.wim.names()).toEqual(['started']);
  expect(new Set(site.printed)).toEqual(new Set([`${site.face.socket}\n`]));
  await site.stop();
  await site.face[Symbol.asyncDispose]();
  expect(existsSync(dirname(site.face.socket))).toBe(false);
  expect(await readdir(site.root)).toEqual([]);
});

test('an agent whose client has ended its connection has lost its tools, until it connects again', async () => {
  await using site = await startRunFace(50);
  const consumer = newConsumer();
  await using first = await site.rosa.shim(consumer);
  await using idle = await site.wim.shim();
  first.request(2, 'tools/list');
  await first.line('id', 2);
  const watcher = await site.stack.client('rosa');
  const status = async () => {
    const connected = await watcher.listConnected({ withStatus: true });
    return connected.find(({ address }) => address.startsWith('rosa#run-'))?.status;
  };
  first.socket.destroy();
  idle.socket.destroy();
  await expect.poll(site.rosa.names).toEqual(['started', 'ready', 'tools_lost']);
  await expect.poll(status).toMatchObject({ worker: 'run', tools_lost: true });
  await using _second = await site.rosa.shim(consumer);
  await expect.poll(site.rosa.names).toEqual(['started', 'ready', 'tools_lost', 'tools_back']);
  await expect.poll(status).not.toHaveProperty('tools_lost');
  // One that never listed its tools did not lose any.
  expect(site.wim.names()).toEqual(['started']);
});

test('an agent that was asked to end has not lost its tools when its client ends first', async () => {
  await using site = await startRunFace(50);
  await using ending = await site.rosa.shim();
  await using lost = await site.wim.shim();
  for (const shim of [ending, lost]) {
    shim.request(2, 'tools/list');
    await shim.line('id', 2);
  }
  site.rosa.askToEnd();
  ending.socket.destroy();
  await ending.closed;
  lost.socket.destroy();
  await expect.poll(site.wim.names).toEqual(['started', 'ready', 'tools_lost']);
  await site.stop();
  expect(site.rosa.names()).toEqual(['started', 'ready', 'exited']);
});
