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

test('What others write cannot steer the terminal; with --json it comes as it was.', async () => {
  const evil = '\x1b[2J\x1b]0;title\x07 gone\r\u202e\u200b\u{e0041}\noperator  operator  idle';
  await using walt = await connectBroker({
    url: broker.url,
    token: await broker.token('walt'),
    agent: 'walt',
  });
  walt.announce({ worker: 'mcp', calls: 0, client: evil });
  await walt.deliver({ to: 'rosa', kind: 'note', body: evil });
  const inbox = await rosa(['inbox']);
  expect(inbox.stdout).toContain('\\x1b[2J\\x1b]0;title\\x07 gone');
  const agents = await signalbox(['agents', '--data', broker.dataDir]);
  expect(agents.stdout).toContain('\\x1b[2J');
  // A heading, a row for walt, and one for rosa, who is offline and has mail.
  expect(agents.stdout.match(/^.+$/gm)).toHaveLength(3);
  expect(inbox.stdout + agents.stdout).not.toMatch(/[^\P{C}\n]/u);
  expect(jsonOf(await rosa(['inbox', '--json']))).toMatchObject({ messages: [{ body: evil }] });
});
