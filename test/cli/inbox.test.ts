import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { startTestBroker, type TestBroker } from '@signalbox/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cleanEnv, jsonOf, signalbox, signalboxArgv } from '../support/cli/command-line.ts';
import { agentWith } from '../support/cli/inbox.ts';

let broker: TestBroker;

beforeAll(async () => {
  broker = await startTestBroker();
});
afterAll(() => broker?.[Symbol.asyncDispose]());

test('--take prints whole bodies, quoted and JSON indented, and empties the inbox as far as its limit.', async () => {
  const long = 'all of it '.repeat(1000);
  const rosa = await agentWith(broker, 'rosa', [`${long}\nid  forged\x1b[2J`, { plan: ['a', 'b'] }, 'later']);
  const taken = await signalbox(['inbox', '--take', '--limit', '2'], { env: rosa.env });
  expect(taken).toMatchObject({ code: 0, stderr: '' });
  expect(taken.stdout).toContain(`\n| ${long}\n| id  forged\\x1b[2J\n`);
  expect(taken.stdout).toContain('| {\n|   "plan": [\n|     "a",\n|     "b"\n|   ]\n| }\n');
  expect(taken.stdout).toMatch(/^id {2,}rosa-1\nfrom {2,}walt \(role worker\)$/m);
  expect(taken.stdout).toContain('2 messages taken; 1 still waiting.');
  expect(await rosa.waitingIds()).toEqual(['rosa-2']);
  const rest = await signalbox(['inbox', '--take', '--json'], { env: rosa.env });
  expect(jsonOf(rest)).toMatchObject({ messages: [{ id: 'rosa-2', body: 'later' }] });
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
