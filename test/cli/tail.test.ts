import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { connectBroker } from '@signalbox/client';
import { RoleToolAllowlist } from '@signalbox/orchestrator';
import { startTestBroker } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { cleanEnv, signalbox, signalboxArgv } from '../support/cli/command-line.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

type Event = { what: string; message?: Record<string, unknown>; call?: Record<string, unknown> } & Record<
  string,
  unknown
>;

/** `signalbox tail --json` after it said that it follows, with what it printed so far. */
async function startTail(args: readonly string[]) {
  const child = spawn(process.execPath, signalboxArgv(['tail', ...args, '--json']), {
    env: cleanEnv(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface(child.stdout);
  const events: Event[] = [];
  lines.on('line', (line) => events.push(JSON.parse(line)));
  const exited = once(child, 'exit');
  await Promise.race([once(lines, 'line'), exited]);
  return {
    events,
    /** `what id outcome` of each. */
    told: () =>
      events.map(({ what, message, call, outcome }) =>
        [what, message?.id ?? call?.tool, outcome ?? call?.outcome].filter(Boolean).join(' '),
      ),
    stdout: child.stdout,
    exited,
    async stop(signal: NodeJS.Signals = 'SIGINT') {
      child.kill(signal);
      return (await exited)[0] as number | null;
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

test('tail follows messages and tool calls, says when it was cut off from the broker, and ends at Ctrl-C.', async () => {
  await using stack = await startToolStack({
    allowlist: RoleToolAllowlist.fromEntries([['builder', ['mcp_counter__*']]]),
  });
  const { broker } = stack;
  await using tail = await startTail(['--data', broker.dataDir]);
  expect(tail.events[0]).toEqual({ what: 'following', url: broker.broker.socket, agent: null });
  const executor = await stack.executor('bea', 'builder');
  expect(await executor.execute({ name: 'mcp_counter__echo', arguments: {} })).toHaveProperty('result');
  await expect.poll(tail.told).toContain('call mcp_counter__echo ok');
  const request = tail.events.find(({ message }) => message?.kind === 'mcp_request');
  expect(tail.events.find(({ call }) => call)).toMatchObject({
    call: { agent: 'bea', role: 'builder', request_id: request?.message?.id, state: 'finished' },
  });
  expect(request?.message).toMatchObject({
    from: { agent: 'bea' },
    to: 'orchestrator',
    size: expect.any(Number),
  });

  const ann = await stack.client('ann');
  await stack.clientAt('bob');
  await ann.deliver({ to: 'bob', kind: 'note', id: 'n1', body: 'secret' });
  await expect.poll(tail.told).toContain('stored n1');
  await broker.restart();
  await expect.poll(tail.told).toContain('reconnected');
  await expect.poll(() => ann.state.name).toBe('ready');
  await ann.deliver({ to: 'bob', kind: 'note', id: 'n2', body: 'secret' });
  await expect.poll(tail.told).toContain('stored n2');
  const cut = tail.told().filter((line) => ['disconnected', 'reconnected', 'stored n2'].includes(line));
  expect(cut).toEqual(['disconnected', 'reconnected', 'stored n2']);
  expect(JSON.stringify(tail.events)).not.toContain('secret');
  expect(await tail.stop()).toBe(0);
});

test('tail of one agent shows its messages also without an orchestrator, and ends with its reader.', async () => {
  await using broker = await startTestBroker();
  await using tail = await startTail(['--agent', 'ann', '--data', broker.dataDir]);
  const connect = async (agent: string) =>
    connectBroker({ url: broker.url, token: await broker.token(agent), agent });
  await using ann = await connect('ann');
  await using bob = await connect('bob');
  await broker.token('orchestrator', 'orchestrator');
  await bob.deliver({ to: 'bob', kind: 'note', id: 'own' });
  await ann.deliver({ to: 'bob', kind: 'note', id: 'n1' });
  await ann.deliver({ to: 'orchestrator', kind: 'mcp_request', id: 'r1', body: { op: 'manifest' } });
  await expect.poll(tail.told).toContain('calls_missing');
  expect(tail.told()).toEqual(['following', 'stored n1', 'stored r1', 'calls_missing']);
  expect(tail.events.at(-1)).toMatchObject({ code: 'no_consumer' });
  tail.stdout.destroy();
  await ann.deliver({ to: 'bob', kind: 'note', id: 'unread' });
  expect(await tail.exited).toEqual([0, null]);
});

test('tail is the operator’s: an agent is refused with exit code 77.', async () => {
  await using broker = await startTestBroker();
  const env = { SIGNALBOX_URL: broker.url, SIGNALBOX_TOKEN: await broker.token('ann') };
  const refused = await signalbox(['tail'], { env });
  expect(refused).toMatchObject({ code: 77, stdout: '' });
  expect(refused.stderr).toContain("'tail' needs a token of an operator");
});
