// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the configuration's own syntax
import { expect, test } from 'vitest';
import { parseMcpFile } from './parse-mcp-file.ts';

const sources = { env: { TOKEN: 'hush', EMPTY: '' }, readFile: (path: string) => `from ${path}\n` };
const place = { file: '/srv/mcp.json', pointer: [] };
const all: (name: string) => boolean = () => true;

function read(servers: object, isWanted = all) {
  return parseMcpFile(JSON.stringify({ mcpServers: servers }), place, sources, isWanted);
}

function problemsOf(servers: object): string[] {
  const { skipped, problems } = read(servers);
  expect(problems).toEqual([]);
  return skipped.map(({ path, message }) => `${path}: ${message}`);
}

test('A file of VS Code is read with its comments, trailing commas and tabs; the rest of its content is ignored.', () => {
  const text = [
    '{',
    '\t// servers of this folder',
    '\t"inputs": [{ "id": "key", "default": "${input:key}" }],',
    '\t"servers": {',
    '\t\t"docs": { "type": "http", "url": "https://example.test/mcp", /* in beta */ "gallery": true, },',
    '\t},',
    '}',
  ].join('\n');
  expect(parseMcpFile(text, place, sources, all)).toEqual({
    names: ['docs'],
    secrets: new Map(),
    servers: { docs: { type: 'http', url: 'https://example.test/mcp' } },
    lines: new Map([['docs', 5]]),
    skipped: [],
    problems: [],
    lacksServers: false,
    warnings: [{ line: 5, path: 'servers.docs.gallery', message: 'ignored: Signalbox has no such option' }],
  });
});

test('Other names for the same options are understood: serverUrl, httpUrl, streamableHttp.', () => {
  const { servers, problems, warnings } = read({
    a: { serverUrl: 'https://a.test' },
    b: { httpUrl: 'https://b.test', type: 'streamableHttp' },
    c: { command: 'x', type: 'local' },
  });
  expect({ problems, warnings }).toEqual({ problems: [], warnings: [] });
  expect(servers).toEqual({
    a: { url: 'https://a.test' },
    b: { url: 'https://b.test', type: 'http' },
    c: { command: 'x', type: 'stdio' },
  });
});

test('Variables are read as Claude Code, VS Code and we write them.', () => {
  const args = [
    '${TOKEN}',
    '${NONE:-plan b}',
    '${EMPTY:-plan c}',
    '${env:TOKEN}',
    '${file:./x}',
    '${instance}',
    '$TOKEN',
  ];
  expect(read({ a: { command: 'x', args } }).servers.a?.args).toEqual([
    'hush',
    'plan b',
    '',
    'hush',
    'from ./x',
    '${instance}',
    '$TOKEN',
  ]);
});

test('A variable that is not set, or that only an editor can ask for, is a problem that names it.', () => {
  expect(problemsOf({ a: { command: 'x', args: ['${NONE}', '${input:key}'] } })).toEqual([
    'mcpServers.a.args[0]: ${NONE}: the environment variable NONE is not set',
    'mcpServers.a.args[1]: ${input:key}: asks the user of an editor; put the value in the environment and write ${env:NAME}',
  ]);
});

test('An entry that cannot be used is left out with its lines and reasons, and the others are read.', () => {
  const text = `{ "mcpServers": {
    "none": {},
    "good": { "command": "x", "env": { "SAID": "\${env:SAYS}" } },
    "secret": { "command": "x",
      "env": { "KEY": "\${NONE}" } },
    "older": { "type": "sse", "url": "https://a.test/sse" },
    "list": ["x"],
    "${'n'.repeat(65)}": { "command": "x" },
    "both": { "command": "x", "url": "https://a.test" }
  } }`;
  // A value from the environment is data, not text with references.
  const { names, servers, skipped, problems } = parseMcpFile(
    text,
    place,
    { ...sources, env: { SAYS: '${NONE}' } },
    all,
  );
  expect(names).toHaveLength(7);
  expect(servers).toEqual({ good: { command: 'x', env: { SAID: '${NONE}' } } });
  expect(problems).toEqual([]);
  expect(skipped.map(({ server, line }) => `${server.slice(0, 6)}:${line}`)).toEqual([
    'none:2',
    'secret:5',
    'older:6',
    'list:7',
    'nnnnnn:8',
    'both:9',
  ]);
  expect(skipped.find(({ server }) => server === 'older')?.message).toContain('Streamable HTTP');
});

test('What worker config prints is left out as Signalbox itself, before any variable of it is read; what only looks like it is not.', () => {
  const ours = {
    pasted: { command: '/usr/bin/node', args: ['/opt/signalbox/apps/cli/bin/signalbox.js', 'worker', 'mcp'] },
    installed: { command: 'signalbox', args: ['worker', 'mcp', '--tools', 'search'], env: { A: '${NONE}' } },
    npx: { command: 'npx', args: ['-y', 'signalbox@latest', 'worker', 'mcp'] },
    windows: { command: 'C:\\bin\\signalbox.cmd', args: ['worker', 'mcp'] },
    shell: { command: 'sh', args: ['-c', 'cd /srv && exec signalbox worker mcp'] },
    claude: {
      type: 'http',
      url: 'http://a.test/mcp',
      headers: { Authorization: 'Bearer ${SIGNALBOX_TOKEN}' },
    },
    code: { url: 'http://a.test/mcp', headers: { Authorization: 'Bearer ${input:signalbox-token}' } },
  };
  const others = {
    own: { command: 'signalbox-notes', args: ['worker', 'mcp'] },
    tools: { command: 'signalbox', args: ['tools', 'list'] },
  };
  const { servers, skipped } = read({ ...ours, ...others });
  expect(Object.keys(servers)).toEqual(Object.keys(others));
  expect(skipped.map(({ server }) => server)).toEqual(Object.keys(ours));
  for (const { message } of skipped) expect(message).toContain('is Signalbox itself');
});

test("Unknown keys are ignored with a warning, another client's auth included; our own keys are read.", () => {
  const { servers, warnings } = read({
    a: { url: 'https://a.test', auth: { CLIENT_ID: 'x' }, alwaysAllow: [], lazy: true },
    b: { url: 'https://b.test', auth: { type: 'bearer', token: '${TOKEN}' } },
  });
  expect(servers).toEqual({
    a: { url: 'https://a.test', lazy: true },
    b: { url: 'https://b.test', auth: { type: 'bearer', token: 'hush' } },
  });
  expect(warnings.map(({ path }) => path)).toEqual(['mcpServers.a.auth', 'mcpServers.a.alwaysAllow']);
});

test('An entry that is replaced is not checked.', () => {
  const servers = { a: { type: 'sse', env: { A: '${NONE}' }, odd: 1 }, b: { command: 'x' } };
  expect(read(servers, (name) => name !== 'a')).toEqual({
    names: ['a', 'b'],
    secrets: new Map(),
    servers: { b: { command: 'x' } },
    lines: new Map([['b', 1]]),
    skipped: [],
    problems: [],
    lacksServers: false,
    warnings: [],
  });
});

test('A file without servers, or with both sections, or that is no file of servers, is a problem.', () => {
  const top = (text: string): string =>
    parseMcpFile(text, place, sources, all)
      .problems.map((p) => p.message)
      .join();
  expect(top('{}')).toContain("unknown format; nearest: 'mcpServers' (Claude Code");
  expect(top('[1]')).toContain('unknown format');
  expect(top('{"mcpServers": {}, "servers": {}}')).toContain('keep one of the two');
  expect(top('{"mcpServers": [1]}')).toMatch(/^must be a mapping \(name: value\), and is a list/);
  expect(top('{"mcpServers": {"__proto__": {"command": "x"}}}')).toBe("'__proto__' cannot be a name");
  expect(top('{"mcpServers": {')).not.toBe('');
});
