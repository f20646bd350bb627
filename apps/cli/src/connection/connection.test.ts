import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tokenFileText, tokenText } from '@signalbox/protocol';
import { afterAll, expect, test } from 'vitest';
import { type ConnectionFlags, type ConnectionSearch, resolveConnection } from './connection.ts';

const directory = realpathSync(mkdtempSync(join(tmpdir(), 'signalbox-connection-')));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const secret = 'x'.repeat(43);
const alice = tokenText('alice', secret);
const tokenFile = write('bob.token', `${tokenText('bob', secret)}\n`);
write('operator.token', `${tokenText('operator', secret)}\n`);
write('broker.json', JSON.stringify({ pid: process.pid, url: 'ws://127.0.0.1:5001' }));
const config = write('signalbox.yaml', 'broker: { data: . }\norchestrator: { id: tools-1 }\n');

function write(name: string, text: string): string {
  writeFileSync(join(directory, name), text, { mode: 0o600 });
  return join(directory, name);
}

async function codeOf(
  flags: ConnectionFlags,
  env: NodeJS.ProcessEnv,
  search: ConnectionSearch = {},
): Promise<unknown> {
  try {
    const connection = await resolveConnection(flags, env, search);
    return { ...connection, orchestrator: await connection.orchestrator() };
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
  const connection = await resolveConnection({ config }, {});
  expect(connection).toMatchObject({ url: 'ws://127.0.0.1:5001', agent: 'operator' });
  expect(await connection.orchestrator()).toBe('tools-1');
});

test('The broker of a data directory is found on its socket, whether it runs or not, and at its TCP address only if it has no socket.', async () => {
  const flags = { tokenFile, data: mkdtempSync(join(directory, 'state-')) };
  const urlOf = async (more: ConnectionFlags = {}): Promise<string> =>
    (await resolveConnection({ ...flags, ...more }, {})).url;
  expect(await urlOf()).toBe(`unix:${flags.data}/broker.sock`);
  const tcpOnly = write('tcp.yaml', 'broker: { socket: false, listen: 127.0.0.1:5009 }');
  expect(await urlOf({ config: tcpOnly })).toBe('ws://127.0.0.1:5009');
  const long = join(directory, 'd'.repeat(100));
  expect(await codeOf({ tokenFile, data: long }, {})).toBe('unreachable');
  const facts = { pid: process.pid, url: 'ws://127.0.0.1:5001', socket: 'unix:/run/elsewhere/broker.sock' };
  writeFileSync(join(flags.data, 'broker.json'), JSON.stringify(facts));
  expect(await urlOf()).toBe(facts.socket);
});

test('A token file names its broker, unless an option or the environment names another.', async () => {
  const file = write('rosa.token', tokenFileText({ token: alice, url: 'unix:/run/a/broker.sock' }));
  const urlOf = async (flags: ConnectionFlags, env = {}): Promise<string> =>
    (await resolveConnection({ tokenFile: file, ...flags }, env)).url;
  expect(await urlOf({})).toBe('unix:/run/a/broker.sock');
  const byVariable = await resolveConnection({}, { SIGNALBOX_TOKEN_FILE: file });
  expect(byVariable).toMatchObject({ url: 'unix:/run/a/broker.sock', agent: 'alice' });
  expect(await urlOf({ config })).toBe('ws://127.0.0.1:5001');
  expect(await urlOf({}, { SIGNALBOX_URL: 'ws://127.0.0.1:5002' })).toBe('ws://127.0.0.1:5002');
  const remote = write('remote.token', tokenFileText({ token: alice, url: 'ws://192.0.2.1:7420' }));
  expect(await codeOf({ tokenFile: remote }, {})).toBe('insecure_url');
});

test('A list of brokers may stand wherever an address may, and is handed on as it is.', async () => {
  const list = 'ws://127.0.0.1:5001,unix:/run/b/broker.sock';
  const urlOf = async (flags: ConnectionFlags, env = {}): Promise<unknown> =>
    ((await codeOf({ tokenFile, ...flags }, env)) as { url?: unknown }).url;
  expect(await urlOf({ url: list.replace(',', ' , ') })).toBe(list);
  expect(await urlOf({}, { SIGNALBOX_URL: list })).toBe(list);
  const file = write('list.token', tokenFileText({ token: alice, url: list }));
  expect(await urlOf({ tokenFile: file })).toBe(list);
  await expect(resolveConnection({ tokenFile, url: `${list},ws://192.0.2.1:1` }, {})).rejects.toThrow(
    /^ws:\/\/192\.0\.2\.1:1 leads to another machine/,
  );
  const caFile = write('ca.pem', 'no certificate');
  expect(await codeOf({ tokenFile, url: list, caFile }, {})).toMatchObject({ url: list });
  expect(await codeOf({ tokenFile, url: `${list},wss://box.example`, caFile }, {})).toBe('usage');
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

test('A url that is no broker’s, and one to another machine without encryption, are refused before anything is sent.', async () => {
  const codes = async (flags: ConnectionFlags, env = {}): Promise<unknown> =>
    codeOf(flags, { SIGNALBOX_TOKEN: alice, ...env });
  expect(await codes({ url: 'http://127.0.0.1:7420' })).toBe('bad_broker_url');
  const SIGNALBOX_URL = 'ws://192.0.2.1:7420';
  expect(await codes({}, { SIGNALBOX_URL })).toBe('insecure_url');
  expect(
    await resolveConnection({ insecure: true }, { SIGNALBOX_TOKEN: alice, SIGNALBOX_URL }),
  ).toMatchObject({
    url: SIGNALBOX_URL,
    insecure: true,
  });
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

test('A token file that other users may read is warned about with the fix, and a private one is not.', async () => {
  const warnings: string[] = [];
  const env = { SIGNALBOX_URL: 'ws://127.0.0.1:5002' };
  const connect = () => resolveConnection({ tokenFile }, env, { warn: (text) => warnings.push(text) });
  chmodSync(tokenFile, 0o600);
  await connect();
  expect(warnings).toEqual([]);
  chmodSync(tokenFile, 0o644);
  await connect();
  expect(warnings).toEqual([expect.stringContaining(`chmod 600 ${tokenFile}`)]);
});

const below = join(directory, 'project');
mkdirSync(join(below, 'src'), { recursive: true, mode: 0o755 });
/** A search that ends at the folder with the configuration. */
const fromProject: ConnectionSearch = { cwd: join(below, 'src'), home: directory };

test('In a folder below a configuration the operator, the broker and the orchestrator are found without an option.', async () => {
  const connection = await resolveConnection({}, {}, fromProject);
  expect(await connection.orchestrator()).toBe('tools-1');
  expect(connection).toMatchObject({
    url: 'ws://127.0.0.1:5001',
    agent: 'operator',
    from: { by: 'configuration', name: config },
  });
  expect(await codeOf({}, {}, { ...fromProject, search: false })).toBe('usage');
  await expect(resolveConnection({}, {}, { ...fromProject, search: false })).rejects.toThrow(
    /no signalbox.yaml here, in a parent folder or in .*, and SIGNALBOX_CONFIG is not set/,
  );
  const byVariable = await resolveConnection({}, { SIGNALBOX_CONFIG: config }, { cwd: '/', search: false });
  expect(byVariable.agent).toBe('operator');
  expect(await byVariable.orchestrator()).toBe('tools-1');
});

test('The operator’s token of a configuration that is found is used in no agent’s shell, and for no broker that is named elsewhere.', async () => {
  for (const name of ['SIGNALBOX_AGENT', 'SIGNALBOX_TOKEN', 'SIGNALBOX_TOKEN_FILE']) {
    expect(await codeOf({}, { [name]: '' }, fromProject)).toBe('usage');
  }
  expect(await codeOf({ url: 'ws://127.0.0.1:5002' }, {}, fromProject)).toBe('usage');
  expect(await codeOf({}, { SIGNALBOX_URL: 'ws://127.0.0.1:5002' }, fromProject)).toBe('usage');
});

test('The address in a token file comes before a configuration that is found, which names the orchestrator of its own broker only.', async () => {
  const at = async (url: string): Promise<unknown> => {
    const file = write('found.token', tokenFileText({ token: alice, url }));
    return await codeOf({ tokenFile: file }, {}, fromProject);
  };
  for (const url of ['ws://127.0.0.1:5001', 'ws://127.0.0.1:5004,ws://127.0.0.1:5001'])
    expect(await at(url)).toMatchObject({ orchestrator: 'tools-1', agent: 'alice' });
  expect(await at('ws://127.0.0.1:5004')).toMatchObject({
    url: 'ws://127.0.0.1:5004',
    orchestrator: 'orchestrator',
    from: { by: 'token file', name: expect.stringContaining('found.token') },
  });
  // A broken configuration does not matter where the address is known.
  writeFileSync(join(below, 'signalbox.yaml'), 'brokr: {}');
  expect(await at('ws://127.0.0.1:5004')).toMatchObject({ orchestrator: 'orchestrator' });
  await expect(resolveConnection({}, {}, fromProject)).rejects.toThrow(/brokr/);
  rmSync(join(below, 'signalbox.yaml'));
});

test('A folder that somebody else filled sends no token anywhere: its data directory is not private, and a port is not guessed.', async () => {
  const theirs = join(below, 'signalbox.yaml');
  const data = join(below, 'state');
  mkdirSync(data, { mode: 0o755 });
  writeFileSync(join(data, 'broker.json'), JSON.stringify({ pid: process.pid, url: 'wss://192.0.2.1' }));
  writeFileSync(theirs, 'broker: { data: ./state, socket: false, listen: 127.0.0.1:5009 }');
  const urlOf = async (flags: ConnectionFlags): Promise<unknown> =>
    ((await codeOf(flags, { SIGNALBOX_TOKEN: alice }, fromProject)) as { url: unknown }).url;
  expect(await urlOf({})).toBe(`unix:${data}/broker.sock`);
  expect(await urlOf({ config: theirs })).toBe('wss://192.0.2.1');
  // An archive brings the permissions of its directories.
  chmodSync(data, 0o700);
  expect(await urlOf({})).toBe(`unix:${data}/broker.sock`);
  writeFileSync(join(data, 'broker.json'), JSON.stringify({ pid: process.pid, url: 'ws://127.0.0.1:5010' }));
  expect(await urlOf({})).toBe('ws://127.0.0.1:5010');
  rmSync(theirs);
});
