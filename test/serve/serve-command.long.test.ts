import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BrokerClient, connectBroker } from '@signalbox/client';
import { startBrokerProcess, tempDir } from '@signalbox/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { signalbox } from '../support/cli/command-line.ts';
import { packageOf, recordLoads } from '../support/cli/loaded-modules.ts';
import { startToolStack, type ToolStack } from '../support/orchestrator/tool-stack.ts';
import { eventsOf, pidIn, serve } from '../support/serve/serve-command.ts';

const wait = { timeoutMs: 25_000 };
let stack: ToolStack;
let walt: BrokerClient;
let home: Awaited<ReturnType<typeof tempDir>>;

beforeAll(async () => {
  [stack, home] = await Promise.all([startToolStack({ counter: false }), tempDir()]);
  walt = await stack.clientAt('walt');
});
afterAll(async () => {
  await walt?.close();
  await stack?.[Symbol.asyncDispose]();
  await home?.[Symbol.asyncDispose]();
});

/** Where the agents are served. */
const place = () => ({ brokerUrl: stack.broker.url, home: home.path });
const asOperator = (): string[] => ['--data', stack.broker.dataDir, '--role', 'worker'];

test('A turn of claude that was to ask a person, and ran in a mode in which claude asks nobody, is answered and warned of.', async () => {
  const lines = [
    { type: 'system', subtype: 'init', permissionMode: 'auto' },
    { type: 'result', is_error: false, result: 'done' },
  ].map((line) => `echo '${JSON.stringify(line)}'`);
  const script = `if [ "$1" = --help ]; then echo '--print --output-format --resume'; else ${lines.join('; ')}; fi`;
  const { run } = await serve(place(), 'silent', script, ['--permissions', 'ask', ...asOperator()], {
    as: ['claude', '-p'],
  });
  await using _run = run;
  expect(await walt.request('silent', 'ask', 'work', wait)).toMatchObject({ reply: { json: 'done' } });
  expect(eventsOf(run, 'warning')).toContainEqual(
    expect.objectContaining({
      code: 'asks_nobody',
      message: expect.stringContaining("claude's mode 'auto'"),
    }),
  );
});

test('A program that fails on every message loses no mail: ps and status say since when and why, and all is answered when it works.', async () => {
  const broken = join(home.path, 'broken', 'mended');
  const { run } = await serve(
    place(),
    'broken',
    `if [ -e '${broken}' ]; then cat; else echo 'no API key' >&2; exit 75; fi`,
    [...asOperator(), '--retry-wait', '20ms'],
  );
  await using _run = run;
  const asked = ['a', 'b', 'c', 'd'].map((text) => walt.request('broken', 'ask', text, wait));
  await expect.poll(() => eventsOf(run, 'program_failing')).toHaveLength(1);
  // More tries than a message has attempts.
  await expect.poll(() => eventsOf(run, 'turn_ended').length).toBeGreaterThan(6);
  const operator = { env: { SIGNALBOX_URL: stack.broker.url } };
  const shown = async (command: string) =>
    (await signalbox([command, '--data', stack.broker.dataDir], operator)).stdout;
  await expect
    .poll(() => shown('ps'), { interval: 250 })
    .toMatch(/^broken +worker +failing for .* exit code 75: no API key$/m);
  expect(await shown('status')).toMatch(/the program of broken has failed for .* no API key\): signalbox ps/);
  await writeFile(broken, '');
  const replies = await Promise.all(asked);
  expect(replies.map((one) => one.status === 'completed' && one.reply.json)).toEqual(['a', 'b', 'c', 'd']);
  expect(eventsOf(run, 'program_works')).toHaveLength(1);
  const attempts = run
    .events()
    .flatMap(({ messages }) => (messages as { attempt: number }[] | undefined) ?? []);
  expect(attempts.every(({ attempt }) => attempt === 1)).toBe(true);
});

test('A question that a failing program leaves unanswered is not counted as mail before itself.', async () => {
  const { run } = await serve(place(), 'sour', 'exit 3', [...asOperator(), '--retry-wait', '1m']);
  await using _run = run;
  const ask = ['ask', 'sour', 'what is new?', '--timeout', '2s', '--data', stack.broker.dataDir];
  const { code, stderr } = await signalbox(ask, { env: { SIGNALBOX_URL: stack.broker.url } });
  expect(code).toBe(75);
  expect(stderr).toContain('sour did not answer in time');
  expect(stderr).not.toContain('before it');
});

test('A turn outlives kill -9 of the broker, and its reply is stored once.', async () => {
  const data = join(home.path, 'data');
  let broker = await startBrokerProcess(data);
  await using _first = broker;
  const { url, port } = broker;
  const operator = await connectBroker({ url, token: await broker.operatorToken(), agent: 'operator' });
  await using _operator = operator;
  const file = join(home.path, 'outlives', 'pid');
  const script = `echo $$ > '${file}'; while [ ! -e '${file}.go' ]; do sleep 0.02; done; cat`;
  const { run } = await serve(place(), 'outlives', script, ['--data', data, '--role', 'worker'], { url });
  await using _run = run;
  const asked = operator.request('outlives', 'ask', 'are you there?', wait);
  await pidIn(file);
  await broker.kill();
  broker = await startBrokerProcess(data, port);
  await using _second = broker;
  await expect.poll(() => operator.state.name).toBe('ready');
  await writeFile(`${file}.go`, '');
  expect(await asked).toMatchObject({ status: 'completed', reply: { json: 'are you there?' } });
  await expect.poll(() => eventsOf(run, 'turn_ended')).toMatchObject([{ outcome: 'answered' }]);
  expect(eventsOf(run, 'turn_started')).toHaveLength(1);
});

test('Wrong usage is refused before anything connects, and a dry run shows a turn.', async () => {
  const env = {
    HOME: home.path,
    SIGNALBOX_URL: 'ws://127.0.0.1:9',
    SIGNALBOX_TOKEN: await stack.broker.token('dry'),
  };
  const absent = await signalbox(['worker', 'serve', '--', 'not-a-program'], { env });
  expect(absent).toMatchObject({
    code: 127,
    stderr: expect.stringContaining("'not-a-program' was not found"),
  });
  const dry = await signalbox(['worker', 'serve', '--dry-run', '--', 'cat', '-u'], { env });
  expect(dry.code).toBe(0);
  expect(dry.stdout).toContain('dry would be started');
  expect(dry.stdout).toContain('  cat -u\n');
  expect(dry.stdout).toContain('SIGNALBOX_SERVED=1');
  const { env: recording, modules } = await recordLoads(home.path);
  const acp = await signalbox(['worker', 'serve', '--dry-run', '--acp', '--', 'cat', '--stdio'], {
    env: { ...env, ...recording },
  });
  expect(acp.stdout).toContain('our MCP server is named to it in each session');
  // Only a turn loads the SDK of the protocol.
  expect((await modules()).map(packageOf)).not.toContain('@agentclientprotocol/sdk');
});

test('Nothing that runs in a turn takes the inbox from the command that serves it.', async () => {
  const env = {
    ...{ HOME: home.path, SIGNALBOX_URL: stack.broker.url, SIGNALBOX_AGENT: 'turned' },
    SIGNALBOX_TOKEN: await stack.broker.token('turned'),
  };
  await walt.deliver({ to: 'turned', kind: 'note', body: 'hello' });
  const served = { ...env, SIGNALBOX_SERVED: '1', SIGNALBOX_TURN: '1' };
  for (const args of [
    ['inbox', '--take'],
    ['worker', 'echo'],
    ['worker', 'run', '--', 'cat'],
  ]) {
    const refused = await signalbox(args, { env: served });
    expect([args, refused.code]).toEqual([args, 77]);
    expect(refused.stderr).toContain('signalbox worker serve holds the inbox of turned');
  }
  expect((await signalbox(['inbox', '--take'], { env })).stdout).toContain('| hello');
});

test('Four scouts share one command, each with its own token.', async () => {
  const { run } = await serve(place(), 'scout', 'echo "$SIGNALBOX_AGENT"', [...asOperator(), '--count', '4']);
  await using _run = run;
  const names = ['scout-1', 'scout-2', 'scout-3', 'scout-4'];
  await expect
    .poll(() =>
      eventsOf(run, 'serving')
        .map(({ agent }) => agent)
        .sort(),
    )
    .toEqual(names);
  const outcomes = await Promise.all(names.map((name) => walt.request(name, 'ask', 'who?', wait)));
  expect(outcomes.map((one) => one.status === 'completed' && one.reply.json)).toEqual(names);
});
