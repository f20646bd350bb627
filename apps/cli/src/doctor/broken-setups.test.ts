import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type RunningBroker, runBroker } from '@signalbox/daemon';
import { builtInConfig } from '@signalbox/daemon/config/internal';
import { type ServerReport, tokenFileText } from '@signalbox/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clockFindings } from './checks/clock.ts';
import { openFilesIn } from './checks/descriptors.ts';
import { hostedServerFinding } from './checks/servers.ts';
import { tokenFinding } from './checks/tokens.ts';
import { ChecksRun } from './checks-run.ts';
import { type ExaminationFlags, examine } from './examination.ts';
import { type CheckName, type Finding, ok } from './finding.ts';
import { type Machine, thisMachine } from './machine.ts';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'signalbox-doctor-test-')));
const isRoot = process.getuid?.() === 0;

/** The data directory of a broker that has run and was stopped in order. */
const stopped = join(root, 'stopped');
let running: RunningBroker;

beforeAll(async () => {
  await (await startBroker(stopped))[Symbol.asyncDispose]();
  running = await startBroker(join(root, 'running'));
});
afterAll(async () => {
  await running?.[Symbol.asyncDispose]();
  rmSync(root, { recursive: true, force: true });
});

async function startBroker(dataDir: string): Promise<RunningBroker> {
  return await runBroker({ config: builtInConfig(), dataDir, listen: { host: '127.0.0.1', port: 0 } });
}

/** A folder of its own, with a configuration that is right by itself. `files` are added, or replace it. */
function setup(files: Record<string, string> = {}): { cwd: string; data: string } {
  const cwd = mkdtempSync(join(root, 'setup-'));
  const all = { 'signalbox.yaml': config(), ...files };
  for (const [name, text] of Object.entries(all)) writeFileSync(join(cwd, name), text, { mode: 0o600 });
  return { cwd, data: join(cwd, 'state') };
}

function config(more = '', listen = '127.0.0.1:0'): string {
  return `broker: { data: ./state, listen: "${listen}" }\nroles: { worker: { tools: [] } }\n${more}`;
}

/** A disk as it should be: the tests may run on one of another kind. */
const goodDisk = { type: 0xef53, freeBytes: 2 ** 36, files: 1000, freeFiles: 900 };

type Findings = (Finding & { check: CheckName })[];

async function examined(
  { cwd }: { cwd: string },
  flags: ExaminationFlags = {},
  machine: Partial<Machine> = {},
): Promise<Findings> {
  const found: Findings = [];
  const { PATH } = process.env;
  const env = { PATH, HOME: cwd, XDG_STATE_HOME: join(cwd, 'xdg') };
  const facts = { ...thisMachine(), cwd, home: cwd, env, fileSystemOf: async () => goodDisk, ...machine };
  await examine({ config: join(cwd, 'signalbox.yaml'), ...flags }, facts, (check, finding) =>
    found.push({ check, ...finding }),
  );
  return found;
}

/** Everything that is not as it should be. */
function bad(found: Findings): Findings {
  return found.filter(({ status }) => status !== 'ok');
}

function copyOfStopped(): { cwd: string; data: string } {
  const made = setup();
  mkdirSync(made.data, { mode: 0o700 });
  for (const name of readdirSync(stopped))
    writeFileSync(join(made.data, name), readFileSync(join(stopped, name)), { mode: 0o600 });
  return made;
}

function contentsOf(directory: string): string[] {
  return readdirSync(directory).map((name) => {
    const file = join(directory, name);
    const hash = createHash('sha256')
      .update(statSync(file).isFile() ? readFileSync(file) : '')
      .digest('hex');
    return `${name} ${statSync(file).mtimeMs} ${hash}`;
  });
}

const node = process.execPath;

test('Nothing is wrong with a set-up that has not run yet, and nothing is made there.', async () => {
  const place = setup();
  const found = await examined(place);
  expect(bad(found)).toEqual([]);
  expect(found.map(({ check }) => check)).toEqual([
    ...['node', 'configuration', 'imports', 'disk', 'data', 'exposure', 'descriptors', 'port', 'database'],
    ...['broker', 'clock', 'tokens', 'servers', 'agents'],
  ]);
  expect(readdirSync(place.cwd)).toEqual(['signalbox.yaml']);
});

test('Nothing is wrong with the data of a broker that was stopped, and not a byte of it changes.', async () => {
  const place = copyOfStopped();
  const before = contentsOf(place.data);
  const found = await examined(place);
  expect(bad(found)).toEqual([]);
  expect(found.find(({ check }) => check === 'database')?.text).toContain('the databases are whole');
  expect(contentsOf(place.data)).toEqual(before);
});

test('A broker that runs gets a message and gives it back, and keeps none.', async () => {
  const found = await examined(setup(), { data: running.dataDir, servers: false });
  expect(bad(found)).toEqual([]);
  expect(found.find(({ check }) => check === 'broker')?.text).toMatch(/written and read back in \d/);
  expect(found.find(({ check }) => check === 'database')?.text).toContain('no damage');
  expect(found.find(({ check }) => check === 'tokens')?.text).toBe(
    '1 token found, accepted and not about to expire',
  );
});

/** A broken set-up: its name, how it is made, and the findings that are wanted: check, status, and a part of the text. */
type Broken = [
  name: string,
  make: () => Promise<Findings>,
  wanted: [CheckName, Finding['status'], string | RegExp][],
];

const broken: Broken[] = [
  [
    'a Node that is too old',
    () => examined(setup(), {}, { nodeVersion: '22.11.0' }),
    [['node', 'failed', 'Node 22.11.0 is too old: signalbox needs 22.12 or newer']],
  ],
  [
    'a wrong configuration',
    () =>
      examined(setup({ 'signalbox.yaml': 'broker: { data: ./state, listen: "127.0.0.1:0", sokcet: 1 }' })),
    [['configuration', 'failed', "did you mean 'socket'?"]],
  ],
  [
    'a configuration that is not there',
    () => examined(setup(), { config: 'gone.yaml', data: join(root, 'none') }, { openFiles: () => 20_000 }),
    [['configuration', 'failed', 'gone.yaml: there is no such file']],
  ],
  [
    'a configuration that others may change',
    async () => {
      const place = setup();
      chmodSync(join(place.cwd, 'signalbox.yaml'), 0o666);
      return await examined(place);
    },
    [['configuration', 'warning', 'can be written by others']],
  ],
  [
    'an imported server that cannot be used',
    () =>
      examined(
        setup({
          'signalbox.yaml': config('mcpConfig: ./mcp.json\n'),
          'mcp.json': JSON.stringify({
            mcpServers: { lame: { command: node, env: { K: '$' + '{NOT_SET}' } } },
          }),
        }),
      ),
    [['configuration', 'warning', 'NOT_SET']],
  ],
  [
    "files of other clients that can't be read",
    () =>
      examined(
        setup({
          'signalbox.yaml': config('mcpConfig: [./mcp.json, ./gone.json]\n'),
          'mcp.json': '{ "mcpServers": {',
        }),
      ),
    [
      ['configuration', 'warning', 'mcp.json:1: is half-written'],
      ['configuration', 'warning', 'gone.json: there is no such file'],
      ['imports', 'warning', "2 files of other clients can't be used: "],
    ],
  ],
  [
    'a data directory that holds something else',
    async () => {
      const place = setup();
      mkdirSync(place.data);
      writeFileSync(join(place.data, 'thesis.tex'), '');
      return await examined(place);
    },
    [['data', 'failed', 'holds other files and no data of a broker']],
  ],
  [
    'a restore that was not finished',
    async () => {
      const place = setup();
      mkdirSync(join(place.data, 'restoring'), { recursive: true });
      return await examined(place);
    },
    [['data', 'failed', 'has not finished']],
  ],
  [
    'a data directory that others may look into',
    async () => {
      const place = copyOfStopped();
      chmodSync(place.data, 0o755);
      return await examined(place);
    },
    [['data', 'warning', 'other users may look into']],
  ],
  [
    'a data directory of another user',
    async () => await examined(copyOfStopped(), {}, { uid: 12_345 }),
    [['data', 'failed', `belongs to the user with the number ${process.getuid?.()}`]],
  ],
  [
    'data on NFS',
    () => examined(copyOfStopped(), {}, { fileSystemOf: async () => ({ ...goodDisk, type: 0x6969 }) }),
    [['disk', 'failed', 'lies on NFS, a network file system']],
  ],
  [
    'data on a file system behind a program',
    () => examined(setup(), {}, { fileSystemOf: async () => ({ ...goodDisk, type: 0x65735546 }) }),
    [['disk', 'warning', 'lies on FUSE']],
  ],
  [
    'a disk without room',
    () =>
      examined(setup(), {}, { fileSystemOf: async () => ({ ...goodDisk, freeBytes: 1024, freeFiles: 0 }) }),
    [
      ['disk', 'failed', 'only 1.0 KiB are free'],
      ['disk', 'failed', 'no more files can be made'],
    ],
  ],
  [
    'a disk that does not answer',
    () =>
      examined(setup(), {}, { fileSystemOf: () => Promise.reject(new Error('ESTALE: stale file handle')) }),
    [['disk', 'failed', 'ESTALE']],
  ],
  [
    'a data directory that a hosted server is given',
    () => {
      const files = `mcpServers: { files: { command: "${node}", args: ["-e", "0", "./state"] } }\n`;
      return examined(setup({ 'signalbox.yaml': config(files) }), { servers: false });
    },
    [['exposure', 'failed', 'mcpServers.files.args']],
  ],
  [
    'a damaged database',
    async () => {
      const place = copyOfStopped();
      const file = join(place.data, 'tokens.db');
      const bytes = readFileSync(file);
      writeFileSync(file, bytes.fill(0x78, 4096));
      return await examined(place);
    },
    [['database', 'failed', 'tokens.db']],
  ],
  [
    'a database that is gone',
    async () => {
      const place = copyOfStopped();
      rmSync(join(place.data, 'messages.db'));
      return await examined(place);
    },
    [['database', 'failed', 'messages.db is missing']],
  ],
  [
    'too few descriptors',
    () => examined(setup(), {}, { openFiles: () => 1024 }),
    [['descriptors', 'warning', 'a process may open 1024 files and sockets: enough for 696 connections']],
  ],
  [
    'a broker that does not answer',
    async () => {
      const place = copyOfStopped();
      const socket = join(place.data, 'broker.sock');
      // A process that takes connections and says nothing would cost the whole time limit: this one takes none.
      writeFileSync(
        join(place.data, 'broker.json'),
        JSON.stringify({ pid: process.pid, url: 'ws://127.0.0.1:1', socket: `unix:${socket}` }),
      );
      return await examined(place);
    },
    [['broker', 'failed', `process ${process.pid} should be the broker`]],
  ],
  [
    'a broker elsewhere that is not there',
    async () => {
      const file = { token: `sbx_rosa~${'x'.repeat(43)}`, url: 'ws://127.0.0.1:1' };
      const place = setup({ 'rosa.token': tokenFileText(file) });
      return await examined(place, {
        tokenFile: join(place.cwd, 'rosa.token'),
        url: file.url,
      });
    },
    [['broker', 'failed', "can't connect to ws://127.0.0.1:1"]],
  ],
  [
    'databases from the future',
    async () => {
      const place = copyOfStopped();
      const later = Date.now() / 1000 + 7200;
      utimesSync(join(place.data, 'messages.db'), later, later);
      return await examined(place);
    },
    [['clock', 'failed', 'the clock was set back: the databases were written 2 h later than it is now']],
  ],
  [
    'a clock that is moved meanwhile',
    () => {
      let calls = 0;
      return examined(setup(), {}, { now: () => (calls++ === 0 ? 0 : 3_600_000), steadyNow: () => 0 });
    },
    [['clock', 'warning', 'the clock of this machine was moved by 60 min']],
  ],
  [
    'a clock that is not the broker’s',
    () =>
      examined(
        setup(),
        { data: running.dataDir, servers: false },
        {
          now: () => Date.now() - 600_000,
          steadyNow: () => performance.timeOrigin + performance.now() - 600_000,
        },
      ),
    [['clock', 'warning', 'the clock of the broker is 10 min ahead of the one of this machine']],
  ],
  [
    'an expired token',
    async () => {
      const { token } = await running.issueToken({ agent: 'late', role: 'worker', ttlMs: 1 });
      const place = setup({ 'late.token': `${token}\n` });
      const tokenFile = join(place.cwd, 'late.token');
      await expect
        .poll(() => examined(place, { tokenFile, data: running.dataDir }))
        .toContainEqual(expect.objectContaining({ check: 'tokens', status: 'failed' }));
      return await examined(place, { tokenFile, data: running.dataDir, servers: false });
    },
    [['tokens', 'failed', 'the broker does not accept the token of late']],
  ],
  [
    'a token file that others may read',
    async () => {
      const { token } = await running.issueToken({ agent: 'open', role: 'worker' });
      const place = setup({ 'open.token': token });
      chmodSync(join(place.cwd, 'open.token'), 0o644);
      return await examined(place, { data: running.dataDir, servers: false });
    },
    [['tokens', 'warning', 'other users may read the token file']],
  ],
  [
    'a token file without a token',
    () => examined(setup({ 'empty.token': '' }), { data: running.dataDir, servers: false }),
    [['tokens', 'warning', 'empty.token is empty']],
  ],
  [
    'a token file with another text',
    () => examined(setup({ 'odd.token': 'abc' }), { data: running.dataDir, servers: false }),
    [['tokens', 'warning', /odd\.token holds no token of Signalbox/]],
  ],
  [
    'a token that a hosted server can read',
    async () => {
      const { token } = await running.issueToken({ agent: 'near', role: 'worker' });
      const files = `mcpServers: { files: { command: "${node}", args: ["-e", "0", "."] } }\n`;
      const yaml = config(files).replace('./state', running.dataDir);
      const place = setup({ 'signalbox.yaml': yaml, 'near.token': token });
      chmodSync(join(place.cwd, 'near.token'), 0o600);
      return await examined(place, { data: running.dataDir, servers: false });
    },
    [
      ['exposure', 'warning', 'holds the configuration'],
      ['exposure', 'warning', /holds the token file .*near\.token, so anybody/],
    ],
  ],
  [
    'a server that does not start',
    () => {
      const lame = `{ command: "${node}", args: ["-e", "console.error('no key'); process.exit(3)"] }`;
      return examined(setup({ 'signalbox.yaml': config(`mcpServers: { lame: ${lame} }\n`) }));
    },
    [['servers', 'failed', 'lame did not start: exited with code 3; its last words: no key']],
  ],
  [
    'a server whose command is not there',
    () => examined(setup({ 'signalbox.yaml': config('mcpServers: { gone: { command: ./nowhere } }\n') })),
    [
      ['configuration', 'warning', 'nowhere'],
      ['servers', 'failed', 'gone did not start'],
    ],
  ],
  [
    'no orchestrator beside the broker',
    () => examined(setup(), { data: running.dataDir }),
    [['servers', 'warning', "no orchestrator named 'orchestrator' is connected"]],
  ],
  [
    'an agent that does not run',
    () => {
      const place = setup({ claude: '#!/bin/sh\nexit 1\n', codex: '#!/bin/sh\necho "codex-cli 1.2.3"\n' });
      for (const name of ['claude', 'codex']) chmodSync(join(place.cwd, name), 0o700);
      return examined(place, {}, { env: { PATH: place.cwd } });
    },
    [['agents', 'warning', /claude did not tell its version$/]],
  ],
];

test('It asks the identity provider for its keys.', async () => {
  let answer = (_url: string): unknown => undefined;
  const server = createHttpServer(({ url = '' }, response) => response.end(JSON.stringify(answer(url))));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const auth = `auth: { issuer: "${issuer}", audience: a, roleClaim: groups, roles: { a: worker } }\n`;
  const findingOf = async (keys: unknown): Promise<Finding> => {
    answer = (url) => (url === '/jwks' ? { keys } : { issuer, jwks_uri: `${issuer}/jwks` });
    const found = await examined(setup({ 'signalbox.yaml': config(auth) }), { servers: false });
    return found.find(({ check }) => check === 'auth')!;
  };
  const good = { kty: 'EC', crv: 'P-256', kid: '1' };
  expect(await findingOf([good, { kty: 'oct' }])).toMatchObject({
    status: 'ok',
    text: expect.stringContaining('publishes 1 key'),
  });
  expect(
    await findingOf([
      { kty: 'EC', crv: 'P-521' },
      { ...good, use: 'enc' },
    ]),
  ).toMatchObject({
    status: 'failed',
    text: expect.stringContaining('publishes no key for RS256, ES256 or EdDSA'),
  });
  expect(await findingOf('none')).toMatchObject({
    status: 'failed',
    text: expect.stringContaining('/jwks answered something else: keys'),
  });
  server.close();
  expect(await findingOf([good])).toMatchObject({
    status: 'failed',
    text: expect.stringMatching(/can't be had, .*: fetch failed: /),
    fix: expect.stringContaining('auth.issuer'),
  });
});

test.each(broken)('It finds %s, with a fix, and nothing else.', async (_, make, wanted) => {
  const found = bad(await make());
  const matching = ([check, status, text]: Broken[2][number]) =>
    expect.objectContaining({
      check,
      status,
      text: typeof text === 'string' ? expect.stringContaining(text) : expect.stringMatching(text),
      fix: expect.stringMatching(/./),
    });
  expect(found).toEqual(wanted.map(matching));
});

test('It finds a port that something else has.', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    const found = bad(await examined(setup({ 'signalbox.yaml': config('', address) })));
    expect(found).toEqual([
      expect.objectContaining({ check: 'port', status: 'failed', text: expect.stringContaining(address) }),
    ]);
  } finally {
    server.close();
  }
});

test('It finds that something else has the port of the orchestrator, with a broker and without one.', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const place = setup({ 'signalbox.yaml': config(`orchestrator: { listen: "${address}" }\n`) });
  try {
    const found = [
      ...(await examined(place, { servers: false })),
      ...(await examined(place, { servers: false, data: join(root, 'running') })),
    ];
    const inUse = {
      check: 'port',
      status: 'failed',
      text: expect.stringContaining(address),
      fix: expect.stringContaining('orchestrator.listen'),
    };
    expect(bad(found)).toEqual([inUse, inUse].map((finding) => expect.objectContaining(finding)));
  } finally {
    server.close();
  }
});

test('It says whether the bridge to clients of A2A answers, or could listen.', async () => {
  const server = createHttpServer((_, response) => response.writeHead(404).end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const section = { listen: address, agents: { rosa: { description: 'answers' } }, roles: ['outside'] };
  const outside = { tools: [], send: { to: ['rosa'], kinds: ['ask'] } };
  const text = JSON.stringify({
    broker: { data: './state', listen: '127.0.0.1:0' },
    roles: { outside },
    a2a: section,
  });
  const place = setup({ 'signalbox.yaml': text });
  const bridge = async (data = place.data) =>
    (await examined(place, { servers: false, data })).filter(({ check }) => check === 'a2a');
  const { dataDir } = running;
  try {
    expect(await bridge()).toMatchObject([{ status: 'failed', fix: expect.stringContaining('a2a.listen') }]);
    expect(await bridge(dataDir)).toMatchObject([
      { status: 'warning', text: expect.stringContaining('another program answers') },
    ]);
  } finally {
    server.close();
    server.closeAllConnections();
  }
  expect(await bridge()).toMatchObject([{ status: 'ok', text: `${address} is free` }]);
  expect(await bridge(dataDir)).toMatchObject([
    { status: 'warning', text: expect.stringContaining(`nobody answers at ${address}`) },
  ]);
});

test('A pipe, a folder, a link to itself and a huge file that look like tokens are named and not read.', async () => {
  const place = setup();
  await promisify(execFile)('mkfifo', [join(place.cwd, 'pipe.token')]);
  mkdirSync(join(place.cwd, 'folder.token'));
  symlinkSync('loop.token', join(place.cwd, 'loop.token'));
  writeFileSync(join(place.cwd, 'huge.token'), Buffer.alloc(100_000), { mode: 0o600 });
  const texts = bad(await examined(place)).map(({ check, status, text }) => `${check} ${status} ${text}`);
  expect(texts.sort()).toEqual([
    expect.stringMatching(/^tokens warning .*folder\.token is no regular file$/),
    expect.stringMatching(/^tokens warning .*huge\.token does not hold one token$/),
    expect.stringMatching(/^tokens warning .*loop\.token cannot be read: ELOOP/),
    expect.stringMatching(/^tokens warning .*pipe\.token is no regular file$/),
  ]);
});

test('It finds data that may not be written.', async () => {
  const place = setup();
  mkdirSync(place.data, { mode: 0o700 });
  // Root may write wherever the rights forbid it, but not into what is immutable.
  const run = promisify(execFile);
  if (isRoot) await run('chattr', ['+i', place.data]);
  else chmodSync(place.data, 0o500);
  try {
    expect(bad(await examined(place))).toEqual([
      expect.objectContaining({
        check: 'data',
        status: 'failed',
        text: expect.stringContaining('nothing may be written into'),
      }),
    ]);
  } finally {
    if (isRoot) await run('chattr', ['-i', place.data]);
    else chmodSync(place.data, 0o700);
  }
});

test('It warns of a token that ends soon, with the command that writes a new one over it.', () => {
  const day = 86_400_000;
  const token = { agent: 'rosa', role: 'writer', created_at: 0, expires_at: 30 * day };
  const found = { file: '/none/rosa.token', isNamed: true, isUsed: true };
  expect(tokenFinding(found, { is: 'valid', token }, 20 * day)).toBe(undefined);
  expect(tokenFinding(found, { is: 'valid', token }, 28 * day)).toEqual({
    status: 'warning',
    text: 'the token of rosa in /none/rosa.token expires in 2 d',
    fix: 'renew it: signalbox token issue --agent rosa --role writer --out /none/rosa.token --force',
  });
});

test.each<[Partial<ServerReport>, Finding['status'], string]>([
  [{ state: 'ready', uptime_ms: 5000 }, 'ok', 'files is ready: 3 tools, up for 5.0 s'],
  [{ state: 'idle' }, 'ok', 'files is idle'],
  [
    { state: 'ready', circuit: 'open', last_error: 'gone' },
    'warning',
    'files gets no calls, as they failed: gone',
  ],
  [{ state: 'needs_auth' }, 'warning', 'files needs somebody to sign in'],
  [{ state: 'ejected', last_error: 'exited' }, 'failed', 'files fails: exited'],
  [
    { state: 'backing_off', last_error: 'exited', stderr_tail: 'start\ncannot open /x\n' },
    'failed',
    'files fails: exited; its last words: cannot open /x',
  ],
  [{ state: 'refused' }, 'failed', 'files is a worker of Signalbox and is not served'],
])('A hosted server with %j is judged %s.', (facts, status, text) => {
  const server = {
    name: 'files',
    tool_count: 3,
    circuit: 'closed',
    stderr_tail: '',
    ...facts,
  } as ServerReport;
  expect(hostedServerFinding(server)).toMatchObject({ status, text });
});

test('It reads how many files a running broker may open.', () => {
  const line = 'Max open files            4096                 524288               files     ';
  expect(openFilesIn(`Limit  Soft Limit  Hard Limit  Units\n${line}\n`)).toBe(4096);
  expect(openFilesIn('Max open files  unlimited  unlimited  files')).toBe(Number.POSITIVE_INFINITY);
  expect(openFilesIn('')).toBe(undefined);
});

test('A leap that the broker does not trust is found, unless it was only down for a while.', () => {
  const hold = { from: 0, to: 900_000, at_start: false, left_ms: 120_000, requests: 0, messages: 0 };
  expect(clockFindings({ steppedMs: 0, hold })).toEqual([
    expect.objectContaining({ status: 'warning', text: expect.stringContaining('leapt by 15 min') }),
  ]);
  expect(clockFindings({ steppedMs: 0, hold: { ...hold, at_start: true } })).toMatchObject([
    { status: 'ok' },
  ]);
});

test('A check that does not end is a failure when its time is over, and what it finds later is not told.', async () => {
  const found: Finding[] = [];
  const late = Promise.withResolvers<readonly Finding[]>();
  const checks = new ChecksRun((_, finding) => found.push(finding), new AbortController().signal);
  await checks.run('disk', () => late.promise, { timeMs: 1 });
  late.resolve([ok('at last')]);
  await late.promise;
  expect(found).toEqual([
    expect.objectContaining({ status: 'failed', text: expect.stringContaining('did not end') }),
  ]);
});

test('No finding holds a secret.', async () => {
  const { token } = await running.issueToken({ agent: 'rosa', role: 'worker' });
  const place = setup({ 'rosa.token': token, 'bad.token': `${token}\nand more\nlines` });
  const env = { PATH: '', SIGNALBOX_TOKEN: token, HOME: place.cwd };
  const found = await examined(place, { data: running.dataDir, servers: false }, { env });
  expect(JSON.stringify(found)).not.toContain(token.split('~')[1]);
  expect(bad(found)).toEqual([
    expect.objectContaining({ check: 'tokens', text: expect.stringContaining('bad.token does not hold') }),
  ]);
});
