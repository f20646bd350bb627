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

function codeOf(flags: ConnectionFlags, env: NodeJS.ProcessEnv): unknown {
  try {
    return resolveConnection(flags, env);
  } catch (error) {
    return (error as { code: unknown }).code;
  }
}

test('Flags come before the environment, and the environment before the data directory.', () => {
  const env = { SIGNALBOX_TOKEN: alice, SIGNALBOX_URL: 'ws://127.0.0.1:5002' };
  const all = { url: 'ws://127.0.0.1:5003', tokenFile, data: directory };
  expect(resolveConnection(all, env)).toMatchObject({ url: 'ws://127.0.0.1:5003', agent: 'bob' });
  expect(resolveConnection({ data: directory }, env)).toMatchObject({
    url: 'ws://127.0.0.1:5002',
    agent: 'alice',
  });
  expect(resolveConnection({ data: directory }, {})).toMatchObject({
    url: 'ws://127.0.0.1:5001',
    agent: 'operator',
  });
});

test('A configuration names the data directory and the orchestrator.', () => {
  expect(resolveConnection({ config }, {})).toMatchObject({
    url: 'ws://127.0.0.1:5001',
    agent: 'operator',
    orchestrator: 'tools-1',
  });
});

test('The token file of the environment comes before its token.', () => {
  expect(resolveConnection({}, { SIGNALBOX_TOKEN: alice, SIGNALBOX_TOKEN_FILE: tokenFile })).toMatchObject({
    agent: 'bob',
  });
});

test('Any sign of an agent in the environment keeps the operator token out of its hands.', () => {
  for (const env of [{ SIGNALBOX_AGENT: 'alice' }, { SIGNALBOX_AGENT: '' }, { SIGNALBOX_TOKEN: '' }]) {
    expect(codeOf({ data: directory }, env)).toBe('usage');
  }
  expect(codeOf({ data: directory }, { SIGNALBOX_URL: 'ws://127.0.0.1:1' })).toMatchObject({
    agent: 'operator',
  });
});

test('The agent is the one that is named, else the one that the token names.', () => {
  expect(resolveConnection({}, { SIGNALBOX_TOKEN: alice, SIGNALBOX_AGENT: 'alice#desk' }).agent).toBe(
    'alice#desk',
  );
  expect(resolveConnection({ agent: 'carol' }, { SIGNALBOX_TOKEN: alice }).agent).toBe('carol');
  expect(resolveConnection({ tokenFile }, { SIGNALBOX_AGENT: 'alice' }).agent).toBe('bob');
  expect(codeOf({}, { SIGNALBOX_TOKEN: 'of another form' })).toBe('usage');
  expect(codeOf({ agent: 'Carol' }, { SIGNALBOX_TOKEN: alice })).toBe('usage');
});

test('A minting token connects as an agent under its own pattern.', () => {
  expect(resolveConnection({}, { SIGNALBOX_TOKEN: tokenText('ci-*', secret) })).toMatchObject({
    agent: 'ci-minting',
    minting: true,
  });
});

test('The operator’s token is not given out under another agent’s name.', () => {
  expect(codeOf({ data: directory, agent: 'alice' }, {})).toBe('usage');
});

test('Where no broker ever ran there is none to reach.', () => {
  expect(codeOf({ data: join(directory, 'nowhere') }, {})).toBe('unreachable');
});

test('A url that is no WebSocket url is refused before anything is sent to it.', () => {
  expect(codeOf({ url: 'http://127.0.0.1:7420' }, { SIGNALBOX_TOKEN: alice })).toBe('usage');
});

test('A url that holds a password is refused without repeating it.', () => {
  const flags = { url: 'ws://me:hush@127.0.0.1:7420' };
  expect(() => resolveConnection(flags, { SIGNALBOX_TOKEN: alice })).toThrow(/no user and no password/);
  expect(() => resolveConnection(flags, { SIGNALBOX_TOKEN: alice })).not.toThrow(/hush/);
});

test('A token is found among what editors put around it; two tokens, none or noise are refused unseen.', () => {
  const editors = write('edited.token', `\ufeff${alice}\r\n`);
  expect(resolveConnection({ tokenFile: editors }, {})).toMatchObject({ agent: 'alice', token: alice });
  for (const text of ['', '\r\n', `${alice}\n${alice}\n`, 'x'.repeat(100_000), '\x00\x1b[2J']) {
    const odd = write('odd.token', text);
    expect(codeOf({ tokenFile: odd }, {})).toBe('usage');
    expect(() => resolveConnection({ tokenFile: odd }, {})).not.toThrow(/sbx_|xxxx|\[2J/);
  }
  expect(codeOf({ tokenFile: directory }, {})).toBe('usage');
});
