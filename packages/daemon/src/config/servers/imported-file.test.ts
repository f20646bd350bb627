import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { readConfig } from '../read-config.ts';
import { type ImportedText, readImportedFile, readImportedFileInSteps } from './imported-file.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'signalbox-imported-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const whole = '{ "history": ["x"],\n "mcpServers": { "a": { "command": "x" } } }\n';
const isRoot = process.getuid?.() === 0;

const effect = 'signalbox.yaml names it in mcpConfig, and none of its servers is used';

/** Each kind of damage with what makes it, and what is said of it. */
const damages: readonly [kind: string, make: (file: string) => void, said: string][] = [
  ['missing', () => {}, ' there is no such file'],
  ['in a folder that is a file', () => {}, ' there is no such file'],
  ['empty', (file) => writeFileSync(file, ''), ' is empty'],
  ['blank', (file) => writeFileSync(file, '\n\n'), '3: is empty'],
  [
    'half-written',
    (file) => writeFileSync(file, whole.slice(0, -3)),
    '2: is half-written: it ends in the middle',
  ],
  ['full of zeros', (file) => writeFileSync(file, Buffer.alloc(100)), '1: (top level): unknown format'],
  [
    'overwritten in part',
    (file) => writeFileSync(file, `${whole}": 1 } }`),
    '3: is no JSON: something in this line does not belong there',
  ],
  [
    'broken among its servers',
    (file) => writeFileSync(file, whole.replace('"x" }', 'x }')),
    '2: (syntax): this does not belong here',
  ],
  ['YAML', (file) => writeFileSync(file, 'mcpServers:\n  a: { command: x }\n'), ' is no JSON'],
  ['UTF-16', (file) => writeFileSync(file, Buffer.from(`\ufeff${whole}`, 'utf16le')), ' is no UTF-8 text'],
  [
    'too large',
    (file) => {
      writeFileSync(file, whole);
      truncateSync(file, 200 * 1024 * 1024);
    },
    ' is larger than 32 MiB',
  ],
  [
    'too deep',
    (file) => writeFileSync(file, `{"a":${'['.repeat(100_000)}`),
    ' has more than 200 brackets in one another',
  ],
  [
    'all servers',
    (file) => writeFileSync(file, `{"mcpServers":{"a":{"args":[${'"x",'.repeat(300_000)}]}}}`),
    ' holds more than 1 MiB of servers',
  ],
  [
    'without a section of servers',
    (file) => writeFileSync(file, '{ "history": [] }'),
    "1: (top level): unknown format; nearest: 'mcpServers' (Claude",
  ],
  [
    'a list',
    (file) => writeFileSync(file, '[1]'),
    "1: (top level): unknown format; nearest: 'mcpServers' (Claude",
  ],
  ['a directory', (file) => mkdirSync(file), ' is no file but a directory'],
  ['a pipe', (file) => execFileSync('mkfifo', [file]), ' is no file but a pipe'],
  ['a device', (file) => symlinkSync('/dev/zero', file), ' is no file but a device or a socket'],
  ['a loop of links', (file) => symlinkSync(file, file), ' is a link that leads back to itself'],
  [
    'without permission',
    (file) => {
      writeFileSync(file, whole);
      chmodSync(file, 0);
    },
    ' cannot be read (EACCES)',
  ],
];

// A superuser may read everything.
describe.each(damages.filter(([kind]) => !isRoot || kind !== 'without permission'))(
  'A file of another client that is %s',
  (kind, make, said) => {
    test('is left out with a warning that says so, and keeps nothing else from being read', async () => {
      const name = `${kind.replaceAll(' ', '-')}.json`;
      const file = join(directory, kind.startsWith('in a folder') ? join('signalbox.yaml', name) : name);
      make(file);
      const own = join(directory, 'signalbox.yaml');
      writeFileSync(join(directory, 'good.json'), whole);
      writeFileSync(
        own,
        JSON.stringify({
          mcpConfig: [file, 'good.json'],
          mcpServers: { b: { command: 'y' }, c: { lazy: true } },
        }),
      );
      const config = readConfig(own, { env: {} });
      expect(Object.keys(config.mcpServers)).toEqual(['a', 'b']);
      expect(config).toMatchObject({ leftOut: ['c'], leftOutFiles: [file] });
      const [warning = ''] = config.warnings.filter((text) => text.startsWith(file));
      expect(warning.slice(file.length + 1, -effect.length)).toContain(said);
      expect(warning.slice(-effect.length)).toBe(effect);
      expect(await readImportedFileInSteps(file, [[]])).toEqual(readImportedFile(file, [[]]));
    });

    test('keeps the servers that it had, unless it can be read and has none', () => {
      const own = join(directory, 'own.yaml');
      const file = join(directory, `${kind.replaceAll(' ', '-')}-later.json`);
      writeFileSync(own, JSON.stringify({ mcpConfig: file }));
      writeFileSync(file, whole);
      const inForce = readConfig(own, { env: {} });
      rmSync(file);
      make(file);
      const { mcpServers, leftOutFiles, warnings, imports } = readConfig(own, { env: {}, inForce });
      const hasNone = kind === 'without a section of servers';
      expect(mcpServers).toEqual(hasNone ? {} : inForce.mcpServers);
      expect(leftOutFiles).toEqual(hasNone ? [file] : []);
      expect(imports[0]?.text).toBe(hasNone ? undefined : inForce.imports[0]?.text);
      if (!hasNone)
        expect(warnings).toEqual([expect.stringMatching(/, and its servers (stay as they were|end if)/)]);
    });
  },
);

test('A change of anything but servers gives the same text, in small steps and at once, and one of servers another.', async () => {
  const file = join(directory, 'large.json');
  const pointers = [[], ['projects', '/srv/shop']];
  const read = async (history: number, command: string): Promise<ImportedText> => {
    const project = { history: 'y'.repeat(history), mcpServers: { b: { command } } };
    const all = {
      history: ['é"\\'.repeat(history)],
      projects: { '/srv/x': project, '/srv/shop': project },
      mcpServers: { a: { command: 'ü' } },
    };
    writeFileSync(file, JSON.stringify(all, undefined, history % 3));
    const found = readImportedFile(file, pointers);
    expect(await readImportedFileInSteps(file, pointers)).toEqual(found);
    return found;
  };
  const first = await read(300_000, 'x');
  expect(first).toEqual({
    text: '{"projects":{"/srv/shop":{"mcpServers":{"b":{"command":"x"}}}},"mcpServers":{"a":{"command":"ü"}}}',
    state: expect.any(String),
  });
  const { state } = first;
  expect(await read(600_000, 'x')).toMatchObject({ state });
  expect((await read(300_000, 'z')).state).not.toBe(state);
});

test('The lines of a file are those that people see, however much of it is passed over.', () => {
  const own = join(directory, 'lines.yaml');
  writeFileSync(
    join(directory, 'lines.json'),
    `{\n "history": [\n1,\n2],\n "mcpServers": {\n  "a": { "command": "x" },\n  "b": { "command": "x", "args": 1 } } }`,
  );
  writeFileSync(own, 'mcpConfig: lines.json');
  const { origins, warnings } = readConfig(own, { env: {} });
  expect(origins.a?.line).toBe(6);
  expect(warnings).toEqual([
    expect.stringMatching(
      /lines\.json:7: mcpServers\.b\.args: must be a list: put it in \[ \]; this server is left out$/,
    ),
  ]);
});

test('A TOML file that its client has only emptied yet keeps its servers.', () => {
  const [file, own] = [join(directory, 'config.toml'), join(directory, 'emptied.yaml')];
  writeFileSync(file, '[mcp_servers.a]\ncommand = "x"\n');
  writeFileSync(own, 'mcpConfig: config.toml');
  const inForce = readConfig(own, { env: {} });
  writeFileSync(file, '\n');
  const { mcpServers, unreadFiles } = readConfig(own, { env: {}, inForce });
  expect(mcpServers).toEqual(inForce.mcpServers);
  expect(unreadFiles).toEqual([expect.stringContaining('config.toml:1: is empty; ')]);
});

test('A file that a reference of another client names is read only if it is a file: reading a pipe would wait.', () => {
  const own = join(directory, 'referring.yaml');
  execFileSync('mkfifo', [join(directory, 'secret')]);
  const reference = '$' + '{file:secret}';
  writeFileSync(
    join(directory, 'referring.json'),
    JSON.stringify({ mcpServers: { a: { command: 'x', args: [reference] }, b: { command: 'y' } } }),
  );
  writeFileSync(own, 'mcpConfig: referring.json');
  const { leftOut, warnings } = readConfig(own, { env: {} });
  expect(leftOut).toEqual(['a']);
  expect(warnings).toEqual([
    expect.stringContaining(
      'the file secret cannot be read (is no file but a pipe); this server is left out',
    ),
  ]);
});

/** A file of a client with the file in which it switches the servers off, and how that says that `a` is off. */
const switched: readonly [client: string, servers: string, switches: string, off: string][] = [
  ['Copilot', '.copilot/mcp-config.json', '.copilot/settings.json', '// x\n{"disabledMcpServers":["a"]}'],
  ['Gemini CLI', '.gemini/settings.json', '.gemini/mcp-server-enablement.json', '{"a":{"enabled":false}}'],
];

test.each(switched)(
  'The switches of %s are watched, also while there is no such file, and stay as they were while it cannot be read.',
  (client, servers, file, off) => {
    vi.stubEnv('HOME', directory);
    const switches = join(directory, file);
    mkdirSync(dirname(switches), { recursive: true });
    writeFileSync(join(directory, servers), '{"mcpServers":{"A":{"command":"x"},"b":{"command":"x"}}}');
    symlinkSync(servers, join(directory, `${client}.json`));
    const own = join(directory, 'switches.yaml');
    writeFileSync(own, JSON.stringify({ mcpConfig: `${client}.json` }));
    const before = readConfig(own, { env: {} });
    expect(before.files).toMatchObject({ [switches]: 'there is no such file' });
    expect(before.mcpServers.A?.disabled).toBeFalsy();

    writeFileSync(switches, off);
    const inForce = readConfig(own, { env: {} });
    expect(inForce.mcpServers).toMatchObject({ A: { disabled: true }, b: { command: 'x' } });

    writeFileSync(switches, off.slice(0, -1));
    const kept = readConfig(own, { env: {}, inForce });
    expect(kept.mcpServers).toEqual(inForce.mcpServers);
    expect(kept.unreadFiles).toEqual([
      expect.stringContaining(`${file}: is half-written: it ends in the middle; the servers of `),
    ]);
    const { mcpServers, leftOut, warnings } = readConfig(own, { env: {} });
    expect({ mcpServers, leftOut }).toEqual({ mcpServers: {}, leftOut: ['A', 'b'] });
    expect(warnings[0]).toContain('which may switch it off, is half-written');

    rmSync(switches);
    expect(readConfig(own, { env: {}, inForce: kept }).mcpServers).toEqual(inForce.mcpServers);
  },
);

test('Of what stands beside the servers, all that a format reads is read, so that restrictions hold, and nothing else.', () => {
  const own = join(directory, 'restricted.yaml');
  const a = { type: 'local', command: ['x'] };
  const amp = { 'amp.mcpServers': { b: { command: 'x' } }, 'amp.tools.disable': ['b'] };
  writeFileSync(
    join(directory, 'restricted.json'),
    JSON.stringify({ permission: { a_w: 'deny' }, mcp: { a } }),
  );
  writeFileSync(join(directory, 'amp.json'), JSON.stringify({ theme: 'dark', ...amp }));
  writeFileSync(own, 'mcpConfig: [restricted.json, amp.json]');
  const { mcpServers, leftOut, imports } = readConfig(own, { env: {} });
  expect(mcpServers).toEqual({ a: expect.objectContaining({ excludeTools: ['w'] }) });
  expect(leftOut).toEqual(['b']);
  expect(imports[1]?.text).toBe(JSON.stringify(amp));
});
