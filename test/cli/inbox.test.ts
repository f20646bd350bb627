import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import type { Message } from '@signalbox/protocol';
import { startTestBroker, type TestBroker, tempDir } from '@signalbox/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cleanEnv, jsonOf, signalbox, signalboxArgv } from '../support/cli/command-line.ts';

let broker: TestBroker;

beforeAll(async () => {
  broker = await startTestBroker();
});
afterAll(() => broker?.[Symbol.asyncDispose]());

/** An agent of its own, with messages from walt in its inbox. */
async function agentWith(agent: string, bodies: readonly unknown[]) {
  const env = { SIGNALBOX_TOKEN: await broker.tokenOf(agent), SIGNALBOX_URL: broker.url };
  await using walt = await connectBroker({ ...(await senderOf('walt')), agent: 'walt' });
  for (const [at, body] of bodies.entries()) {
    await walt.deliver({ to: agent, kind: 'note', id: `${agent}-${at}`, body });
  }
  const waitingIds = async (): Promise<string[]> => {
    await using client = await connectBroker({ ...(await senderOf(agent)), agent });
    const messages: Message[] = [];
    let page: Message[];
    do {
      page = await client.peek({ after: messages.at(-1)?.seq ?? 0 });
      messages.push(...page);
    } while (page.length > 0);
    return messages.map(({ id }) => id);
  };
  return { env, waitingIds };
}

async function senderOf(agent: string) {
  return { url: broker.url, token: await broker.tokenOf(agent) };
}

test('--take prints whole bodies, quoted and JSON indented, and empties the inbox as far as its limit.', async () => {
  const long = 'all of it '.repeat(1000);
  const rosa = await agentWith('rosa', [`${long}\nid  forged\x1b[2J`, { plan: ['a', 'b'] }, 'later']);
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

test('show prints one message whole and leaves it where it is; a sender tells two of the same id apart.', async () => {
  await using folder = await tempDir();
  const yara = await agentWith('yara', ['line\n'.repeat(100), 'other']);
  const list = await signalbox(['inbox'], { env: yara.env });
  expect(list.stdout).toContain('signalbox inbox show ID');
  const file = join(folder.path, 'yara.token');
  await writeFile(file, yara.env.SIGNALBOX_TOKEN, { mode: 0o600 });
  const named = await signalbox(['inbox', '--token-file', file, '--url', broker.url]);
  expect(named.stdout).toContain(`signalbox inbox --take --url ${broker.url} --token-file ${file}\n`);
  const shown = await signalbox(['inbox', 'show', 'yara-0'], { env: yara.env });
  expect(shown.stdout.match(/^\| line$/gm)).toHaveLength(100);
  await using otto = await connectBroker({ ...(await senderOf('otto')), agent: 'otto' });
  await otto.deliver({ to: 'yara', kind: 'note', id: 'yara-0', body: { from: 'otto' } });
  const two = await signalbox(['inbox', 'show', 'yara-0'], { env: yara.env });
  expect(two).toMatchObject({ code: 2, stderr: expect.stringContaining('from walt, otto') });
  const one = await signalbox(['inbox', 'show', 'yara-0', '--from', 'otto', '--json'], { env: yara.env });
  expect(jsonOf(one)).toMatchObject({ message: { id: 'yara-0', body: { from: 'otto' } } });
  const none = await signalbox(['inbox', 'show', 'gone', '--json'], { env: yara.env });
  expect(none.code).toBe(1);
  expect(jsonOf(none)).toMatchObject({ error: { code: 'unknown_message' } });
  expect(await yara.waitingIds()).toEqual(['yara-0', 'yara-1', 'yara-0']);
});

test('A body of half a million lines is printed whole.', async () => {
  const lines = 500_000;
  const zoe = await agentWith('zoe', ['\n'.repeat(lines)]);
  const taken = await signalbox(['inbox', '--take'], { env: zoe.env });
  expect(taken.code).toBe(0);
  expect(taken.stdout.length).toBeGreaterThan(lines * '| \n'.length);
  expect(taken.stdout).toContain('1 message taken.');
});

const interruptions: [string, (taking: ChildProcess) => void][] = [
  ['the reader of a pipe goes away', (taking) => taking.stdout?.destroy()],
  ['the command is interrupted', (taking) => taking.kill('SIGINT')],
];

test.each(interruptions)(
  'When %s in the middle of --take, the messages that were not written whole stay.',
  async (_, interrupt) => {
    const agent = `ivo-${interruptions.findIndex(([title]) => title === _)}`;
    const ivo = await agentWith(agent, ['short', 'x'.repeat(3_000_000), 'last']);
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
  const nora = await agentWith('nora', ['note 0', 'note 1']);
  const env = cleanEnv(nora.env);
  const taking = spawn(process.execPath, signalboxArgv(['inbox', '--take', '--json']), { env });
  taking.stdout.destroy();
  await once(taking, 'exit');
  expect(await nora.waitingIds()).toEqual(['nora-0', 'nora-1']);
});

test('--wait tells mail that nobody works on, takes none, and with --mark tells each message once.', async () => {
  await using directory = await tempDir();
  const mark = join(directory.path, 'mark');
  const wilma = await agentWith('wilma', ['do not print me']);
  const wait = (...more: string[]) =>
    signalbox(['inbox', '--wait', '--mark', mark, ...more], { env: wilma.env });
  const first = await wait();
  expect(first).toMatchObject({ code: 2, stdout: '1 new message waits for wilma, from walt\n', stderr: '' });
  expect(await wait('--timeout', '10ms', '--json')).toMatchObject({
    code: 0,
    stdout: '{"messages":0,"from":[]}\n',
  });
  // A broker that was restored from a backup may have lower numbers.
  const [id] = (await readFile(mark, 'utf8')).split(' ');
  await writeFile(mark, `not-${id} 999999999\n`);
  expect(await wait('--timeout', '10s')).toMatchObject({ code: 2, stdout: first.stdout });
  expect(await readFile(mark, 'utf8')).toMatch(`${id} `);

  await using reader = await connectBroker({ ...(await senderOf('wilma')), agent: 'wilma' });
  await using held = await reader.subscribe({ window: 2 });
  await using otto = await connectBroker({ ...(await senderOf('otto')), agent: 'otto' });
  const waiting = wait('--json');
  const isConnected = async () =>
    (await reader.listConnected()).some(({ address }) => address.startsWith('wilma#'));
  await expect.poll(isConnected).toBe(true);
  await otto.deliver({ to: 'wilma', kind: 'note', body: 'x' });
  expect(await waiting).toMatchObject({ code: 2, stdout: '{"messages":1,"from":["otto"]}\n' });

  // The reader works on both, so that a look without a mark finds nothing.
  for (let read = 0; read < 2; read++) {
    const { value } = await held.messages.next();
    reader.working([value!.seq!]);
  }
  const unmarked = await signalbox(['inbox', '--wait', '--timeout', '10ms'], { env: wilma.env });
  expect(unmarked).toMatchObject({ code: 0, stdout: '' });
  expect(await wilma.waitingIds()).toHaveLength(2);
});

test('--wait refuses options that mean nothing with it, and a mark that cannot be written, before it tells anything.', async () => {
  const wanda = await agentWith('wanda', ['x']);
  const refused = async (...options: string[]) => signalbox(['inbox', ...options], { env: wanda.env });
  expect((await refused('--wait', '--take')).stderr).toContain('--wait and --take do not go together');
  expect((await refused('--mark', 'x')).stderr).toContain('--mark means nothing without --wait');
  const unwritable = await refused('--wait', '--mark', '/nowhere/mark');
  expect(unwritable).toMatchObject({ code: 2, stdout: '' });
  expect(unwritable.stderr).toContain('/nowhere/mark cannot be written');
  await using directory = await tempDir();
  const pipe = join(directory.path, 'pipe');
  execFileSync('mkfifo', [pipe]);
  expect((await refused('--wait', '--mark', pipe)).stderr).toContain(`${pipe} is no regular file`);
});
