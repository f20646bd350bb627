import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { startTestBroker, type TestBroker, tempDir } from '@signalbox/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';
import { agentWith, senderOf } from '../support/cli/inbox.ts';

let broker: TestBroker;

beforeAll(async () => {
  broker = await startTestBroker();
});
afterAll(() => broker?.[Symbol.asyncDispose]());

test('show prints one message whole and leaves it where it is; a sender tells two of the same id apart.', async () => {
  await using folder = await tempDir();
  const yara = await agentWith(broker, 'yara', ['line\n'.repeat(100), 'other']);
  const list = await signalbox(['inbox'], { env: yara.env });
  expect(list.stdout).toContain('signalbox inbox show ID');
  const file = join(folder.path, 'yara.token');
  await writeFile(file, yara.env.SIGNALBOX_TOKEN, { mode: 0o600 });
  const named = await signalbox(['inbox', '--token-file', file, '--url', broker.url]);
  expect(named.stdout).toContain(`signalbox inbox --take --url ${broker.url} --token-file ${file}\n`);
  const shown = await signalbox(['inbox', 'show', 'yara-0'], { env: yara.env });
  expect(shown.stdout.match(/^\| line$/gm)).toHaveLength(100);
  await using otto = await connectBroker({ ...(await senderOf(broker, 'otto')), agent: 'otto' });
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
  const zoe = await agentWith(broker, 'zoe', ['\n'.repeat(lines)]);
  const taken = await signalbox(['inbox', '--take'], { env: zoe.env });
  expect(taken.code).toBe(0);
  expect(taken.stdout.length).toBeGreaterThan(lines * '| \n'.length);
  expect(taken.stdout).toContain('1 message taken.');
});

test('--wait tells mail that nobody works on, takes none, and with --mark tells each message once.', async () => {
  await using directory = await tempDir();
  const mark = join(directory.path, 'mark');
  const wilma = await agentWith(broker, 'wilma', ['do not print me']);
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

  await using reader = await connectBroker({ ...(await senderOf(broker, 'wilma')), agent: 'wilma' });
  await using held = await reader.subscribe({ window: 2 });
  await using otto = await connectBroker({ ...(await senderOf(broker, 'otto')), agent: 'otto' });
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
  const wanda = await agentWith(broker, 'wanda', ['x']);
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
