import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connectBroker } from '@signalbox/client';
import { startTestBroker, type TestBroker } from '@signalbox/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cleanEnv, jsonOf, signalbox, signalboxArgv } from '../support/cli/command-line.ts';
import { agentWith, senderOf } from '../support/cli/inbox.ts';

let broker: TestBroker;

beforeAll(async () => {
  broker = await startTestBroker();
});
afterAll(() => broker?.[Symbol.asyncDispose]());

test('--take prints whole bodies, quoted and JSON indented, and empties the inbox as far as its limit.', async () => {
  const long = 'all of it '.repeat(1000);
  const rosa = await agentWith(broker, 'rosa', [
    `${long}\nid  forged\x1b[2J`,
    { plan: ['a', 'b'] },
    { text: 'later' },
  ]);
  const taken = await signalbox(['inbox', '--take', '--limit', '2'], { env: rosa.env });
  expect(taken).toMatchObject({ code: 0, stderr: '' });
  expect(taken.stdout).toContain(`\n| ${long}\n| id  forged\\x1b[2J\n`);
  expect(taken.stdout).toContain('| {\n|   "plan": [\n|     "a",\n|     "b"\n|   ]\n| }\n');
  expect(taken.stdout).toMatch(/^id {2,}rosa-1\nfrom {2,}walt \(role worker\)$/m);
  expect(taken.stdout).toContain('2 messages taken; 1 still waiting.');
  expect(await rosa.waitingIds()).toEqual(['rosa-2']);
  // A text is shown alone, as everywhere.
  expect((await signalbox(['inbox'], { env: rosa.env })).stdout).toMatch(/^rosa-2 .* ago +later$/m);
  const shown = await signalbox(['inbox', 'show', 'rosa-2'], { env: rosa.env });
  expect(shown.stdout).toMatch(/\n\n\| later\n$/);
  const rest = await signalbox(['inbox', '--take', '--json'], { env: rosa.env });
  expect(jsonOf(rest)).toMatchObject({ messages: [{ id: 'rosa-2', body: { text: 'later' } }] });
  expect(await rosa.waitingIds()).toEqual([]);
});

const interruptions: [string, (taking: ChildProcess) => void][] = [
  ['the reader of a pipe goes away', (taking) => taking.stdout?.destroy()],
  ['the command is interrupted', (taking) => taking.kill('SIGINT')],
];

test.each(interruptions)(
  'When %s in the middle of --take, the messages that were not written whole stay.',
  async (_, interrupt) => {
    const agent = `ivo-${interruptions.findIndex(([title]) => title === _)}`;
    const ivo = await agentWith(broker, agent, ['short', 'x'.repeat(3_000_000), 'last']);
    const env = cleanEnv(ivo.env);
    const taking = spawn(process.execPath, signalboxArgv(['inbox', '--take']), { env });
    const ended = once(taking, 'exit');
    // A pipe that nobody empties holds the short message and the beginning of the long one.
    let read = '';
    for await (const [chunk] of eventsOf(taking)) {
      read += chunk;
      if (read.includes('| xxx')) break;
    }
    taking.stdout.pause();
    interrupt(taking);
    await ended;
    expect(await ivo.waitingIds()).toEqual([`${agent}-1`, `${agent}-2`]);
  },
);

test('A question that a colleague answers while --take prints it is told as settled, and the rest is taken.', async () => {
  await using walt = await connectBroker({ ...(await senderOf(broker, 'walt')), agent: 'walt' });
  const question = { to: 'operator', kind: 'ask', id: 'go-on' };
  await walt.deliver({ ...question, body: 'x'.repeat(3_000_000) });
  await walt.deliver({ to: 'operator', kind: 'note', id: 'rest', body: 'rest' });
  const env = { SIGNALBOX_TOKEN: await broker.operatorToken(), SIGNALBOX_URL: broker.url };
  const taking = spawn(process.execPath, signalboxArgv(['inbox', '--take']), { env: cleanEnv(env) });
  const closed = once(taking, 'close');
  let told = '';
  taking.stderr.setEncoding('utf8').on('data', (text: string) => {
    told += text;
  });
  // A pipe that nobody empties holds the beginning of the question.
  await once(taking.stdout, 'data');
  taking.stdout.pause();
  const answer = await signalbox(['send', 'walt', 'yes', '--reply-to', 'go-on', '--of', 'operator'], { env });
  expect(answer.code).toBe(0);
  let shown = '';
  taking.stdout.on('data', (text) => {
    shown += text;
  });
  taking.stdout.resume();
  expect(await closed).toEqual([0, null]);
  expect(told).toBe(
    'message go-on does not wait any more: somebody else has answered it, or its sender withdrew it\n',
  );
  expect(shown).toContain('2 messages taken.');
});

async function* eventsOf(child: ChildProcess): AsyncGenerator<[Buffer]> {
  for (;;) yield (await once(child.stdout!, 'data')) as [Buffer];
}

test('What is taken as JSON and then not read by anybody comes again.', async () => {
  const nora = await agentWith(broker, 'nora', ['note 0', 'note 1']);
  const env = cleanEnv(nora.env);
  const taking = spawn(process.execPath, signalboxArgv(['inbox', '--take', '--json']), { env });
  taking.stdout.destroy();
  await once(taking, 'exit');
  expect(await nora.waitingIds()).toEqual(['nora-0', 'nora-1']);
});
