import { connectBroker } from '@signalbox/client';
import { startTestBroker, type TestBroker } from '@signalbox/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { jsonOf, type RunOptions, signalbox } from '../support/cli/command-line.ts';

let broker: TestBroker;
let env: Record<string, string>;

beforeAll(async () => {
  broker = await startTestBroker();
  env = { SIGNALBOX_TOKEN: await broker.token('rosa'), SIGNALBOX_URL: broker.url };
});
afterAll(() => broker?.[Symbol.asyncDispose]());

function rosa(args: readonly string[], options: RunOptions = {}) {
  return signalbox(args, { env, ...options });
}

test('An inbox larger than one answer of the broker is shown to its end, or says that there is more.', async () => {
  const token = await broker.token('yara');
  const yara = { SIGNALBOX_TOKEN: token, SIGNALBOX_URL: broker.url };
  await using client = await connectBroker({ url: broker.url, token, agent: 'yara' });
  for (let at = 0; at < 4; at++) {
    await client.deliver({ to: 'yara', kind: 'note', body: `${at}${'x'.repeat(600_000)}` });
  }
  const all = jsonOf(await signalbox(['inbox', '--json'], { env: yara })) as { messages: unknown[] };
  expect(all.messages).toHaveLength(4);
  const three = await signalbox(['inbox', '--limit', '3'], { env: yara });
  expect(three.stdout).toContain('The first 3, still waiting, and there are more');
  const four = await signalbox(['inbox', '--limit', '4'], { env: yara });
  expect(four.stdout).toContain('4 messages, still waiting');
});

test.each([
  { args: ['send', '', 'hi'], says: "argument 'to' can't be ''" },
  { args: ['send', 'Walt!', 'hi'], says: "argument 'to' can't be 'Walt!'" },
  { args: ['send', 'walt', 'hi', '--kind', 'No Kind'], says: "--kind 'No Kind' must be lower-case" },
  { args: ['send', 'walt', 'hi', '--id', 'a b'], says: "--id 'a b' must be 1 to 64 printable" },
  { args: ['send', 'walt', 'hi', '--reply-to', 'ü'], says: "--reply-to 'ü' must be 1 to 64 printable" },
  { args: ['send', 'walt', 'hi', '--of', 'operator'], says: '--of says who was asked' },
  { args: ['send', 'walt', 'hi', '--reply-to', 'q', '--of', 'rosa'], says: "--of 'rosa' is no operator" },
  { args: ['ask', 'walt', 'hi', '--timeout', '-1'], says: 'Write it like 500ms' },
  { args: ['ask', 'walt', 'hi', '--timeout', '1e9d'], says: 'Write it like 500ms' },
  { args: ['tools', 'call', 'x', 'null'], says: 'the arguments must be a JSON object' },
  { args: ['tools', 'call', 'x', '['.repeat(300)], says: 'nests deeper than 256 levels' },
  { args: ['tools', 'call', '', '{}'], says: 'the name of the tool is empty' },
  { args: ['tools', 'list', '--orchestrator', 'No One'], says: "--orchestrator 'No One' is not an agent id" },
  { args: ['tools', 'result', 'two words'], says: "'two words' is not the id of a request" },
])('Refused with the name of what is wrong, $says, and nothing sent: $args', async ({ args, says }) => {
  const run = await rosa(args);
  expect(run).toMatchObject({ code: 2, stdout: '' });
  expect(run.stderr).toContain(says);
});

test('A text beyond what the broker takes is refused with both sizes; one just below is stored.', async () => {
  const large = await rosa(['send', 'rosa', '-', '--json'], { input: 'x'.repeat(5_000_000) });
  expect(large.code).toBe(1);
  expect(jsonOf(large)).toMatchObject({
    error: { code: 'message_too_large', message: expect.stringMatching(/5000002 bytes.*4194304/) },
  });
  const below = await rosa(['send', 'rosa', '-', '--json'], { input: 'x'.repeat(4_000_000) });
  expect(below.code).toBe(0);
});
