import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BrokerClient } from '@signalbox/client';
import { tempDir } from '@signalbox/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { signalbox, signalboxArgv } from '../support/cli/command-line.ts';
import { startToolStack, type ToolStack } from '../support/orchestrator/tool-stack.ts';
import { isRunning } from '../support/processes.ts';
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

/** A script of which the first try never ends, and a later one answers. */
const hangsOnce = (cwd: string): string =>
  `if [ -e '${cwd}/pid' ]; then echo "again: $(cat)"; else sleep 600 & echo $$ > '${cwd}/pid'; wait; fi`;

test('signalbox ask is answered by a turn, whose MCP server shows its message, takes none, and sends its reply.', async () => {
  const main = fileURLToPath(new URL('../support/serve/tool-user-main.ts', import.meta.url));
  const mcp = [process.execPath, ...signalboxArgv(['worker', 'mcp'])].map((word) => `'${word}'`).join(' ');
  const served = join(home.path, 'state', 'signalbox-served');
  const { run, runRoot } = await serve(
    place(),
    'tooled',
    `exec '${process.execPath}' '${main}' ${mcp}`,
    asOperator(),
  );
  await using _run = run;
  const { stdout } = await signalbox(['ask', 'tooled', 'what is new?', '--data', stack.broker.dataDir], {
    env: { SIGNALBOX_URL: stack.broker.url },
  });
  expect(JSON.parse(stdout)).toMatchObject({
    turn: [{ from: 'operator', kind: 'ask', body: 'what is new?', attempt: 1 }],
    instructions: expect.stringContaining('You were started for one turn'),
    waited: false,
  });
  await expect
    .poll(() => eventsOf(run, 'turn_ended'))
    .toMatchObject([{ outcome: 'answered_by_tool', code: 0, output: 'this is not sent' }]);
  const ps = () =>
    signalbox(['ps', '--data', stack.broker.dataDir], { env: { SIGNALBOX_URL: stack.broker.url } });
  // A status is announced once a second at most.
  await expect
    .poll(async () => (await ps()).stdout, { interval: 250 })
    .toMatch(/^tooled +worker +idle .* program +.*this is not sent$/m);
  const [kept] = (await readdir(served)).filter((name) => name.startsWith('tooled-'));
  expect(kept).toMatch(/^tooled-[0-9a-f]{12}\.output$/);
  expect(await readFile(join(served, kept!), 'utf8')).toBe('this is not sent');
  run.kill('SIGTERM');
  expect(await run.ended).toEqual({ code: 0, signal: null });
  expect(await readdir(runRoot)).toEqual([]);
});

test('Two members of a group that one command serves take its messages side by side, and each answers what it took.', async () => {
  const cwd = join(home.path, 'scout');
  // Both turns run at once, or neither ends.
  const meet = `touch '${cwd}/'$$.here; while [ "$(ls '${cwd}' | grep -c here)" -lt 2 ]; do sleep 0.02; done`;
  const args = ['--group', 'role:worker', '--count', '2', ...asOperator()];
  const { run } = await serve(place(), 'scout', `${meet}; echo "$SIGNALBOX_AGENT: $(cat)"`, args);
  await using _run = run;
  const both = await Promise.all(['a', 'b'].map((text) => walt.request('role:worker', 'ask', text, wait)));
  const replies = both.flatMap((one) => (one.status === 'completed' ? [one.reply] : []));
  expect(replies.map(({ from }) => from.agent).sort()).toEqual(['scout-1', 'scout-2']);
  for (const { from, json } of replies) expect(json).toMatch(new RegExp(`^${from.agent}: [ab]$`));
});

test('A program under kill -9 gets its message again, as the second attempt.', async () => {
  const { run, cwd } = await serve(place(), 'killed', hangsOnce(join(home.path, 'killed')), asOperator());
  await using _run = run;
  const asked = walt.request('killed', 'task', 'work', wait);
  process.kill(await pidIn(join(cwd, 'pid')), 'SIGKILL');
  expect(await asked).toMatchObject({ status: 'completed', reply: { json: 'again: work' } });
  expect(eventsOf(run, 'turn_started').map(({ messages }) => messages)).toMatchObject([
    [{ attempt: 1 }],
    [{ attempt: 2 }],
  ]);
  expect(eventsOf(run, 'turn_ended')[0]).toMatchObject({ reason: 'its program was ended by SIGKILL' });
});

test('A serve under kill -9 leaves no process and no file; the next one gets the message as the second attempt.', async () => {
  const first = await serve(place(), 'crashed', hangsOnce(join(home.path, 'crashed')), asOperator());
  await using _first = first.run;
  const asked = walt.request('crashed', 'ask', 'work', wait);
  const pid = await pidIn(join(first.cwd, 'pid'));
  await expect.poll(() => eventsOf(first.run, 'turn_started')).toHaveLength(1);
  first.run.kill('SIGKILL');
  await first.run.ended;
  await expect.poll(() => isRunning(pid)).toBe(false);
  await expect.poll(() => readdir(first.runRoot)).toEqual([]);
  const next = await serve(place(), 'crashed', hangsOnce(join(home.path, 'crashed')), asOperator());
  await using _next = next.run;
  expect(await asked).toMatchObject({ status: 'completed', reply: { json: 'again: work' } });
  expect(eventsOf(next.run, 'turn_started')[0]).toMatchObject({ messages: [{ attempt: 2 }] });
});
