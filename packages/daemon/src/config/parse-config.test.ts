import { expect, test } from 'vitest';
import type { ReferenceSources } from './document/references.ts';
import { parseConfig } from './parse-config.ts';
import { hostServer } from './servers/host-server.ts';

const nothing: ReferenceSources = {
  env: {},
  readFile: (): string => {
    throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
  },
};

function problemsOf(text: string, sources = nothing): string[] {
  const parsed = parseConfig(text, sources);
  return 'problems' in parsed ? parsed.problems.map((p) => `${p.line}: ${p.path}: ${p.message}`) : [];
}

test('An unknown key is reported with its line, its path and the nearest key.', () => {
  expect(problemsOf('broker:\n  listne: 127.0.0.1:1\n')).toEqual([
    "2: broker.listne: unknown key 'listne' (did you mean 'listen'?)",
  ]);
  expect(problemsOf('broker: { keepBody: true }')).toEqual([
    "1: broker.keepBody: unknown key 'keepBody' (did you mean 'keepBodies'?)",
  ]);
});

test('A key that resembles no known one is reported with the keys that are known there.', () => {
  expect(problemsOf('broker: { zzzzzzzz: 1 }')).toEqual([
    "1: broker.zzzzzzzz: unknown key 'zzzzzzzz'; known here: listen, socket, data, durability, store, metrics, tls, trustedOrigins, keepBodies, limits",
  ]);
});

test('All problems of a file are reported, in the order of their lines.', () => {
  const text = [
    'unlisted: dney',
    'broker: { listen: nowhere }',
    'mcpServers:',
    '  a: { url: "https://example.test/mcp", command: node }',
    '  b: { type: stdio }',
    'roles:',
    '  Reader: { tools: [] }',
    '  writer: { tools: [3] }',
    '  nobody: { }',
  ].join('\n');
  expect(problemsOf(text)).toEqual([
    "1: unlisted: must be one of: allow, deny (did you mean 'deny'?)",
    '2: broker.listen: must be HOST:PORT, as in 127.0.0.1:7420',
    '4: mcpServers.a.command: does not belong to a http server',
    "5: mcpServers.b: a stdio server needs 'command'",
    '7: roles.Reader: not a valid name: must be [a-z0-9][a-z0-9_.-]*, at most 64 characters',
    '8: roles.writer.tools[0]: must be a pattern of tools, or { annotations: readOnly }',
    '9: roles.nobody.tools: is missing',
  ]);
});

test('A role named observer is refused, because no setting of it would have an effect.', () => {
  expect(problemsOf('roles:\n  reader: { tools: [] }\n  observer: { tools: ["mcp_*"] }\n')).toEqual([
    "3: roles.observer: not a valid name: 'observer' is the role of operators' tokens that only look and use no tool, and has no settings; take it out, or give the role another name",
  ]);
});

test('A role’s mailbox is false or a list of mailbox tools; an unknown name is reported with the nearest one.', () => {
  const roles = (mailbox: string) => `roles: { a: { tools: [], mailbox: ${mailbox} } }`;
  expect(problemsOf(roles('false'))).toEqual([]);
  expect(problemsOf(roles('[signalbox_inbox_read, signalbox_reply]'))).toEqual([]);
  expect(problemsOf(roles('true'))).toEqual([
    '1: roles.a.mailbox: must be false, or a list of mailbox tools',
  ]);
  expect(problemsOf(roles('[signalbox_reply, signalbox_inbox_reed]'))).toEqual([
    expect.stringMatching(
      /^1: roles\.a\.mailbox\[1\]: must be one of: .* \(did you mean 'signalbox_inbox_read'\?\)$/,
    ),
  ]);
});

test('A role’s unreadHint is one of three words; a wrong one is reported with the nearest.', () => {
  const roles = (hint: string) => problemsOf(`roles: { a: { tools: [], unreadHint: ${hint} } }`);
  for (const hint of ['text', 'meta', 'off']) expect(roles(hint)).toEqual([]);
  const wrong = '1: roles.a.unreadHint: must be one of: text, meta, off';
  expect(roles('texts')).toEqual([`${wrong} (did you mean 'text'?)`]);
  expect(roles('false')).toEqual([wrong]);
});

test('A preview of a result fits into what a role is shown: a smaller limit is refused.', () => {
  const roles = (maxInlineBytes: number) =>
    problemsOf(`roles: { a: { tools: [], results: { maxInlineBytes: ${maxInlineBytes} } } }`);
  expect(roles(8191)).toEqual([expect.stringContaining('1: roles.a.results.maxInlineBytes: ')]);
  expect(roles(8192)).toEqual([]);
});

test('A tool pattern with a colon names a server and a tool: half of it would match nothing, and a rule would be lost.', () => {
  const wrong = 'must name a server and a tool as server:tool; * stands for all of them';
  const roles = (...tools: string[]) => problemsOf(`roles: { a: { tools: ${JSON.stringify(tools)} } }`);
  expect(roles('github:*', '*:read', 'a:b:c')).toEqual([]);
  expect(roles('github:', ':read', ':')).toEqual([0, 1, 2].map((at) => `1: roles.a.tools[${at}]: ${wrong}`));
  expect(problemsOf('orchestrator: { neverRepeat: ["github:"] }')).toEqual([
    `1: orchestrator.neverRepeat[0]: ${wrong}`,
  ]);
});

test('A syntax error has its line.', () => {
  expect(problemsOf('broker:\n  listen: "127')[0]).toMatch(/^2: \(syntax\): /);
});

test('References are replaced in values, and a value never shows in a message about another.', () => {
  const sources = { env: { KEY: 'hush' }, readFile: (path: string) => `from ${path}\n` };
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration's own syntax
  const headers = 'headers: { a: "Bearer ${env:KEY}", b: "${file:./secret}" }';
  const text = `mcpServers:\n  docs: { url: "https://example.test/mcp", ${headers} }\n`;
  expect(parseConfig(text, sources)).toEqual({
    document: {
      mcpServers: {
        docs: { url: 'https://example.test/mcp', headers: { a: 'Bearer hush', b: 'from ./secret' } },
      },
    },
    serverLines: new Map([['docs', 2]]),
    secrets: new Map([
      ['Bearer hush', ['hush']],
      ['from ./secret', ['from ./secret']],
    ]),
  });
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration's own syntax
  expect(problemsOf('broker:\n  listen: ${env:KEY}\n', sources).join()).not.toContain('hush');
});

test('A value says whether it is a secret, and else what came from a variable is one, also behind an alias; settings that every server gets are none.', () => {
  const text = `mcpServers:
  a: { command: x, args: ["--in=\${env:NS}"], env: &shared { NS: "\${env:NS}", HOME: "\${env:HOME}", PIN: { value: "1", secret: true } } }
  b: { command: x, env: *shared }
  c: { command: x, env: { NS: { value: "\${env:NS}", secret: false } } }
`;
  const parsed = parseConfig(text, { env: { NS: 'blue', HOME: '/home/rosa' }, readFile: () => '' });
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  const marksOf = (name: string) => hostServer(parsed.document.mcpServers![name]!, parsed.secrets).secrets;
  expect(marksOf('a')).toEqual({ 'args[0]': ['blue'], 'env.NS': ['blue'], 'env.PIN': true });
  expect(marksOf('b')).toEqual({ 'env.NS': ['blue'], 'env.PIN': true });
  expect(marksOf('c')).toEqual({ 'env.NS': false });
  const problemOf = (entry: string): string =>
    problemsOf(`mcpServers: { a: { command: x, env: { A: ${entry} } } }`).join();
  for (const [entry, problem] of [
    ['{ value: x }', 'secret must be there: true if it is a secret, false if not'],
    ['{ value: x, secret: "yes" }', 'secret must be true or false, without quotes'],
    ['{ value: 1, secret: true }', 'value must be there, and be a text (put it in quotes)'],
    ['{ value: x, sceret: true }', "'sceret' is not one of its keys (did you mean 'secret'?)"],
    ['[a]', 'must be a text (put it in quotes), or { value: TEXT, secret: true }'],
  ])
    expect(problemOf(entry!)).toContain(`1: mcpServers.a.env.A: ${problem}`);
  expect(problemsOf('roles: { a: { tools: [], ask: [{ tool: "*", when: "/srv/**" }] } }')).toEqual([
    '1: roles.a.ask[0]: when must name arguments, as in { path: /srv/prod/** }',
  ]);
  expect(problemsOf('roles: { a: { tools: [], ask: [{ tool: "*", hidden: ask }] } }')).toEqual([
    "1: roles.a.ask[0]: hidden must be 'deny': calls with a hidden value are then denied; without it a person is asked",
  ]);
});

test('A reference to a missing variable or file is the only error of its value, and names the reference.', () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration's own syntax
  expect(problemsOf('mcpServers:\n  docs:\n    url: ${env:DOCS_URL}\n')).toEqual([
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration's own syntax
    '3: mcpServers.docs.url: ${env:DOCS_URL}: the environment variable DOCS_URL is not set',
  ]);
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration's own syntax
  expect(problemsOf('mcpServers:\n  a: { command: node, args: [x, "${file:gone}"] }')).toEqual([
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration's own syntax
    '2: mcpServers.a.args[1]: ${file:gone}: there is no file gone',
  ]);
});

test('Parts that are not asked for need no secrets, but their names are still checked.', () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration's own syntax
  const text = 'broker: { data: ./state }\nmcpServers: { a: { command: "${env:NOT_SET}" } }\n';
  expect(parseConfig(text, nothing, ['broker'])).toMatchObject({ document: { broker: { data: './state' } } });
  expect(parseConfig(`${text}rolse: {}`, nothing, ['broker'])).toHaveProperty('problems');
});

test('JSON is accepted, and an empty file is the defaults.', () => {
  expect(parseConfig('{"unlisted": "allow"}', nothing)).toMatchObject({ document: { unlisted: 'allow' } });
  expect(parseConfig('# nothing yet\n', nothing)).toMatchObject({ document: {} });
  expect(problemsOf('- a list')).toEqual([
    "1: (top level): must be a mapping (key: value), and is a list: write its entries without '- ' and without [ ]",
  ]);
});

test('Aliases that multiply without end, or stand for nothing, are problems with a line.', () => {
  const levels = ['a: &a [x, x, x, x, x, x, x, x, x]'];
  for (const [at, name] of [...'bcdefg'].entries()) {
    const before = 'abcdefg'[at];
    levels.push(`${name}: &${name} [${Array(9).fill(`*${before}`).join(', ')}]`);
  }
  expect(problemsOf(levels.join('\n'))).toEqual([
    '2: (syntax): the aliases stand for far too much; write out what they mean',
  ]);
  expect(problemsOf('roles:\n  a: { tools: [*nope] }')).toEqual([
    '2: (syntax): the alias *nope stands for nothing before it; put a text that begins with * in quotes',
  ]);
  expect(problemsOf('roles:\n  a: &all { tools: ["*"] }\n  b: *all\n')).toEqual([]);
});

test.each([
  [
    'a key without its colon',
    'roles\n  a: {}',
    ["1: (syntax): this is no 'key: value': a colon is missing, or the indentation is wrong"],
  ],
  [
    'a list without its bracket',
    'roles: { a: { tools: "x", "y"] } }\nbroker: {}',
    ["1: (syntax): the indentation is wrong here, or a '{' or '[' before it is not closed"],
  ],
  [
    'a key twice, and another slip',
    'broker: {}\nbroker: {}\nroles: @x',
    [
      '2: (syntax): this key is there twice',
      '3: (syntax): a text that begins with this character needs quotes',
    ],
  ],
])('After %s there are no complaints about what follows from it.', (_, text, problems) => {
  expect(problemsOf(text)).toEqual(problems);
});

test('A name that would vanish, a name that is no text and a second document are reported as problems.', () => {
  expect(problemsOf('mcpServers:\n  __proto__: { command: x }')).toEqual([
    "2: (syntax): '__proto__' cannot be a name",
  ]);
  expect(problemsOf('broker: { ? [a, b] : c }')).toEqual(['1: (syntax): a key must be a plain text']);
  expect(problemsOf('broker: {}\n---\nbroker: {}')).toEqual([
    '2: (syntax): a second document begins here; one file holds one',
  ]);
  expect(problemsOf('broker: { data: "./a\\0b" }')).toEqual([
    '1: broker.data: must not contain a NUL character',
  ]);
});

test('Of a file that is wrong everywhere only the first problems are reported.', () => {
  expect(problemsOf(`a: ${'['.repeat(3000)}`).length).toBeLessThanOrEqual(20);
});

test('A store names a database of PostgreSQL, and has a schema and a name that need no quotes.', () => {
  expect(
    problemsOf(
      'broker:\n  store:\n    postgres: mysql://db/x\n    schema: My Schema\n    name: Broker 1\n    link: yes please\n',
    ),
  ).toEqual([
    '3: broker.store.postgres: is no address of a database: it does not begin with postgres://; write postgres://user:password@host:port/database',
    '4: broker.store.schema: must be lower-case letters, digits and _ (at most 48), beginning with a letter and not with pg_, as in signalbox',
    '5: broker.store.name: must be lower-case letters, digits and _.- (at most 64), beginning with a letter or a digit, as in broker-1',
    '6: broker.store.link: must be HOST:PORT, as in 127.0.0.1:7420',
  ]);
  expect(
    problemsOf(
      'broker: { store: { postgres: "postgres://a,b:5433/x", direct: "postgres://a/x", name: broker-1.b_2 } }',
    ),
  ).toEqual([]);
});

test('A limit of the broker or of a role stands in its group, and is a number in its range.', () => {
  expect(
    problemsOf(
      [
        'broker:',
        '  limits:',
        '    connection: { total: 5 }',
        '    connections: { totl: 5 }',
        '    rates: { messages: 0 }',
        '    message: { bytes: 33554433, ttlMs: 1.5 }',
        'roles:',
        '  a:',
        '    tools: []',
        '    limits: { connections: { total: 5 }, rates: { messages: many } }',
      ].join('\n'),
    ),
  ).toEqual([
    "3: broker.limits.connection: unknown key 'connection' (did you mean 'connections'?)",
    "4: broker.limits.connections.totl: unknown key 'totl' (did you mean 'total'?)",
    '5: broker.limits.rates.messages: must be at least 1',
    '6: broker.limits.message.bytes: must be at most 33554432',
    '6: broker.limits.message.ttlMs: must be a whole number',
    "10: roles.a.limits.connections.total: unknown key 'total'; known here: perAgent, perMinter",
    '10: roles.a.limits.rates.messages: must be a number',
  ]);
  expect(problemsOf('roles: { a: { tools: [], limits: { rates: { messages: 7 } } } }')).toEqual([]);
  expect(problemsOf('broker: { limits: { connections: { total: 20 } } }')).toEqual([
    '1: broker.limits.connections.reserved: must be less than connections.total: it is 32, of 20',
  ]);
  expect(problemsOf('broker: { limits: { connections: { total: 20, reserved: 2 } } }')).toEqual([]);
});

test.each([
  ['yes', 'broker.keepBodies'],
  ['{ kinds: [mcp_request] }', 'broker.keepBodies'],
  ['{ ageMs: 1 }', 'broker.keepBodies'],
  ['{ forever: true }', 'broker.keepBodies'],
  [
    '{ bytes: 9000000000 }',
    'broker.keepBodies.bytes: must be at most an eighth of broker.limits.store.bytes',
  ],
])('What is kept of bodies can not be %s.', (written, problem) => {
  expect(problemsOf(`broker: { keepBodies: ${written} }`).join('\n')).toContain(problem);
});
