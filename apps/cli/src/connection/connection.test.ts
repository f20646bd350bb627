import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tokenText } from '@signalbox/protocol';
import { afterAll, expect, test } from 'vitest';
import { type ConnectionFlags, resolveConnection } from './connection.ts';

const directory = mkdtempSync(join(tmpdir(), 'signalbox-connection-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const secret = 'x'.repeat(43);
const alice = tokenText('alice', secret);
const tokenFile = write('bob.token', `${tokenText('bob', secret)}\n`);
write('operator.token', `${tokenText('operator', secret)}\n`);
write('broker.json', JSON.stringify({ pid: process.pid, url: 'ws://127.0.0.1:5001' }));
const config = write('signalbox.yaml', 'broker: { data: . }\norchestrator: { id: tools-1 }\n');

function write(name: string, text: string): string {
  writeFileSync(join(directory, name), text);
  return join(directory, name);
}

async function codeOf(flags: ConnectionFlags, env: NodeJS.ProcessEnv): Promise<unknown> {
  try {
    return await resolveConnection(flags, env);
  } catch (error) {
    return (error as { code: unknown }).code;
  }
}

test('Options come before the environment, and the environment before the data directory.', async () => {
  const env = { SIGNALBOX_TOKEN: alice, SIGNALBOX_URL: 'ws://127.0.0.1:5002' };
  const all = { url: 'ws://127.0.0.1:5003', tokenFile, data: directory };
  expect(await resolveConnection(all, env)).toMatchObject({ url: 'ws://127.0.0.1:5003', agent: 'bob' });
  expect(await resolveConnection({ data: directory }, env)).toMatchObject({
    url: 'ws://127.0.0.1:5002',
    agent: 'alice',
  });
  expect(await resolveConnection({ data: directory }, {})).toMatchObject({
    url: 'ws://127.0.0.1:5001',
    agent: 'operator',
  });
});

test('A configuration names the data directory and the orchestrator.', async () => {
  expect(await resolveConnection({ config }, {})).toMatchObject({
    url: 'ws://127.0.0.1:5001',
    agent: 'operator',
    orchestrator: 'tools-1',
  });
});

test('The token file of the environment comes before its token.', async () => {
  expect(
    await resolveConnection({}, { SIGNALBOX_TOKEN: alice, SIGNALBOX_TOKEN_FILE: tokenFile }),
  ).toMatchObject({
    agent: 'bob',
  });
});

test('If the environment names an agent, the operator’s token is not used.', async () => {
  for (const env of [{ SIGNALBOX_AGENT: 'alice' }, { SIGNALBOX_AGENT: '' }, { SIGNALBOX_TOKEN: '' }]) {
    expect(await codeOf({ data: directory }, env)).toBe('usage');
  }
  expect(await codeOf({ data: directory }, { SIGNALBOX_URL: 'ws://127.0.0.1:1' })).toMatchObject({
    agent: 'operator',
  });
});

test('The agent is the one that is named, else the one that the token names.', async () => {
  const desk = await resolveConnection({}, { SIGNALBOX_TOKEN: alice, SIGNALBOX_AGENT: 'alice#desk' });
  expect(desk.agent).toBe('alice#desk');
  expect((await resolveConnection({ agent: 'carol' }, { SIGNALBOX_TOKEN: alice })).agent).toBe('carol');
  expect((await resolveConnection({ tokenFile }, { SIGNALBOX_AGENT: 'alice' })).agent).toBe('bob');
  expect(await codeOf({}, { SIGNALBOX_TOKEN: 'of another form' })).toBe('usage');
  expect(await codeOf({ agent: 'Carol' }, { SIGNALBOX_TOKEN: alice })).toBe('usage');
});

test('A minting token connects as an agent under its own pattern.', async () => {
  expect(await resolveConnection({}, { SIGNALBOX_TOKEN: tokenText('ci-*', secret) })).toMatchObject({
    agent: 'ci-minting',
    mintingPattern: 'ci-*',
  });
});

test('The operator’s token is not used under another agent’s name.', async () => {
  expect(await codeOf({ data: directory, agent: 'alice' }, {})).toBe('usage');
});

test('If no broker ever ran on a data directory, the error is unreachable.', async () => {
  expect(await codeOf({ data: join(directory, 'nowhere') }, {})).toBe('unreachable');
});

test('A url that is no WebSocket url is refused before anything is sent to it.', async () => {
  expect(await codeOf({ url: 'http://127.0.0.1:7420' }, { SIGNALBOX_TOKEN: alice })).toBe('usage');
});

test('A url that holds a password is refused without repeating it.', async () => {
  const flags = { url: 'ws://me:hush@127.0.0.1:7420' };
  await expect(resolveConnection(flags, { SIGNALBOX_TOKEN: alice })).rejects.toThrow(
    /no user and no password/,
  );
  await expect(resolveConnection(flags, { SIGNALBOX_TOKEN: alice })).rejects.not.toThrow(/hush/);
});

test('A token is found between a byte-order mark and line ends; two tokens, no token and other text are refused without repeating them.', async () => {
  const editors = write('edited.token', `\ufeff${alice}\r\n`);
  expect(await resolveConnection({ tokenFile: editors }, {})).toMatchObject({ agent: 'alice', token: alice });
  for (const text of ['', '\r\n', `${alice}\n${alice}\n`, 'x'.repeat(100_000), '\x00\x1b[2J']) {
    const odd = write('odd.token', text);
    expect(await codeOf({ tokenFile: odd }, {})).toBe('usage');
    await expect(resolveConnection({ tokenFile: odd }, {})).rejects.not.toThrow(/sbx_|xxxx|\[2J/);
  }
  expect(await codeOf({ tokenFile: directory }, {})).toBe('usage');
});
