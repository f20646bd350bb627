import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isRunning } from '../support/processes.ts';
import { type AcpStage, startAcpStage } from '../support/serve/acp-stage.ts';
import { serveAcp } from '../support/serve/served-acp.ts';

const echo = { tool: 'mcp_everything__echo', args: { message: 'me' } };
let stage: AcpStage;

beforeAll(async () => {
  stage = await startAcpStage();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

/** Returns the text of a file that an agent writes into its home. */
async function written(home: string, name: string): Promise<string> {
  const read = () => readFile(join(home, name), 'utf8').catch(() => '');
  await expect.poll(read).not.toBe('');
  return await read();
}

test('A thread goes on in its process, each turn under its own token: a call between turns is refused, and calls have the thread of their turn.', async () => {
  await using served = await serveAcp(stage.workspace, 'warm', { args: ['--keep', '10m'] });
  const say = (body: string | object[], thread: string) => stage.ask('warm', body, { thread });
  const later = { when: 'go', result: 'later.txt', ...echo };
  expect(await say([{ callLater: later }, { call: echo }], 'one')).toBe('Echo: me');
  await served.touch('go');
  expect(await written(served.home, 'later.txt')).toMatch(/^no_turn: .*was not called/);
  expect(await say('again', 'one')).toBe('session-1, turn 2, mode auto, echo Echo: hello');
  const [first, second] = served.events('turn_started');
  expect(second).toMatchObject({ pid: first!.pid, kept: true, resumed: true });
  const shown = async () => (await stage.command('ps')).stdout;
  await expect.poll(shown, { timeout: 10_000 }).toMatch(/^warm +researcher +idle, 1 kept /m);
  expect(await shown()).toMatch(
    new RegExp(`^warm keeps process ${first!.pid} for thread one, for \\d+ s$`, 'm'),
  );
  const { agents } = JSON.parse((await stage.command('ps', '--json')).stdout);
  const kept = [{ pid: first!.pid, thread: 'one', since: expect.any(Number) }];
  expect(agents.find(({ agent }: { agent: string }) => agent === 'warm').status).toMatchObject({
    kept: 1,
    private: { running: [], kept },
  });
  // One place: the process of the first thread is ended for the second.
  expect(await say('hello', 'two')).toContain('session-2, turn 1');
  expect(isRunning(Number(first!.pid))).toBe(false);
  expect(await say('back', 'one')).toContain('session-1, turn 3');
  const { stdout } = await stage.command('tools', 'calls', '--json');
  const { calls } = JSON.parse(stdout) as { calls: { agent: string; thread: string; state: string }[] };
  const own = calls.filter(({ agent }) => agent === 'warm');
  expect(own.map(({ thread }) => thread).sort()).toEqual(['one', 'one', 'one', 'two']);
  const { pid } = served.events('turn_started').at(-1)!;
  expect(isRunning(Number(pid))).toBe(true);
  await served.stop();
  expect(isRunning(Number(pid))).toBe(false);
  expect(served.run.events().filter(({ event }) => event === 'warning')).toEqual([]);
});
