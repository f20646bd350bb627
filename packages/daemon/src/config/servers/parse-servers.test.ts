import { expect, test } from 'vitest';
import { parseConfig } from '../parse-config.ts';

const sources = {
  env: {},
  readFile: (): string => {
    throw new Error('no file is there');
  },
};

function problemsOf(text: string): string[] {
  const parsed = parseConfig(text, sources);
  return 'problems' in parsed ? parsed.problems.map((p) => `${p.path}: ${p.message}`) : [];
}

const stdio = (rest: string): string[] => problemsOf(`mcpServers: { a: { command: x, ${rest} } }`);
const http = (rest: string): string[] =>
  problemsOf(`mcpServers: { a: { url: "https://example.test/mcp", ${rest} } }`);

test.each([
  'share: worker',
  'lazy: true',
  'keepAliveMs: 0',
  'maxRestarts: 0',
  'restartWindowMs: 1000',
  'downWaitMs: 0',
  'circuitThreshold: 1',
  'circuitResetMs: 1000',
  'concurrency: 4',
  'timeoutMs: 1000',
  'protocol: auto',
  'questions: [elicitation]',
  'disabled: true',
  'tool_discovery: false',
  'prefix: false',
  'card: ./card.json',
  'includeTools: ["get_*"]',
  'excludeTools: [get_all]',
  'safeToRepeat: ["get_*"]',
  'neverRepeat: [drop]',
  'limits: { toolBytes: 1024, tools: 10, toolListBytes: 4096, prompts: 5, resources: 5, answerBytes: 65536 }',
])('A server of either transport may have %s.', (entry) => {
  expect([...stdio(entry), ...http(entry)]).toEqual([]);
});

test.each([
  ['share: everybody', 'mcpServers.a.share: must be one of: all, role, worker'],
  ['share: workers', "mcpServers.a.share: must be one of: all, role, worker (did you mean 'worker'?)"],
  ['lazy: "yes"', 'mcpServers.a.lazy: must be true or false, without quotes'],
  ['keepAliveMs: -1', 'mcpServers.a.keepAliveMs: must be at least 0'],
  ['keepAliveMs: 5m', 'mcpServers.a.keepAliveMs: must be a number of milliseconds: write 300000'],
  ['keepAliveMs: 9999999999', 'mcpServers.a.keepAliveMs: must be at most 2147483647'],
  ['maxRestarts: 1.5', 'mcpServers.a.maxRestarts: must be a whole number'],
  ['restartWindowMs: 0', 'mcpServers.a.restartWindowMs: must be at least 1'],
  ['downWaitMs: -1', 'mcpServers.a.downWaitMs: must be at least 0'],
  ['circuitThreshold: 0', 'mcpServers.a.circuitThreshold: must be at least 1'],
  ['circuitResetMs: soon', 'mcpServers.a.circuitResetMs: must be a number of milliseconds'],
  ['concurrency: 0', 'mcpServers.a.concurrency: must be at least 1'],
  ['timeoutMs: 0', 'mcpServers.a.timeoutMs: must be at least 1'],
  ['protocol: modern', 'mcpServers.a.protocol: must be one of: legacy, auto'],
  ['questions: [logs]', 'mcpServers.a.questions[0]: must be one of: elicitation, sampling, roots'],
  ['disabled: 1', 'mcpServers.a.disabled: must be true or false'],
  [
    'toolDiscovery: false',
    "mcpServers.a.toolDiscovery: unknown key 'toolDiscovery' (did you mean 'tool_discovery'?)",
  ],
  ['card: ""', 'mcpServers.a.card: must not be empty'],
  ['safeToRepeat: get_*', 'mcpServers.a.safeToRepeat: must be a list: put it in [ ]'],
  ['neverRepeat: [1]', 'mcpServers.a.neverRepeat[0]: must be a text (put it in quotes)'],
])('%s is a problem of its own.', (entry, problem) => {
  expect(stdio(entry)).toEqual([problem]);
});

test('Every spelling of HTTP that clients write is taken, and a key of the other transport is refused.', () => {
  for (const type of ['http', 'streamable-http']) expect(http(`type: ${type}`)).toEqual([]);
  expect(http('type: http, transport_type: streamable-http')).toEqual([]);
  expect(http('type: http, transport_type: stdio')).toEqual([
    "mcpServers.a.transport_type: contradicts type 'http'; keep one of the two",
  ]);
  expect(http('type: sse')).toEqual([
    expect.stringMatching(/^mcpServers\.a\.type: the transport 'sse'.*Streamable HTTP/),
  ]);
  expect(stdio('leaveDetached: true')).toEqual([]);
  expect(http('leaveDetached: true')).toEqual([
    'mcpServers.a.leaveDetached: does not belong to a http server',
  ]);
  expect(http('args: [x], cwd: ., env: { A: b }')).toEqual([
    'mcpServers.a.args: does not belong to a http server',
    'mcpServers.a.env: does not belong to a http server',
    'mcpServers.a.cwd: does not belong to a http server',
  ]);
  expect(stdio('headers: { A: b }, auth: { type: bearer, token: x }')).toEqual([
    'mcpServers.a.headers: does not belong to a stdio server',
    'mcpServers.a.auth: does not belong to a stdio server',
  ]);
});

test.each([
  '{ type: bearer, token: x }',
  '{ type: client_credentials, clientId: a, clientSecret: b, scope: "read write" }',
  '{ type: token_exchange, clientId: c, subjectToken: t, subjectTokenType: "urn:x", audience: docs, tokenUrl: "https://as.test/token" }',
  '{ type: authorization_code, issuer: "https://as.test", authorizationUrl: "https://as.test/a", resource: "https://r.test" }',
])('auth: %s is right.', (auth) => {
  expect(http(`auth: ${auth}`)).toEqual([]);
});

test.each([
  [
    '{}',
    'mcpServers.a.auth.type: is missing; one of: bearer, client_credentials, token_exchange, authorization_code',
  ],
  [
    '{ type: client_credential }',
    "mcpServers.a.auth.type: must be one of: bearer, client_credentials, token_exchange, authorization_code (did you mean 'client_credentials'?)",
  ],
  ['{ type: bearer }', 'mcpServers.a.auth.token: is missing'],
  [
    '{ type: bearer, token: x, tokn: y }',
    "mcpServers.a.auth.tokn: unknown key 'tokn' (did you mean 'token'?)",
  ],
  ['{ type: client_credentials, clientId: a }', 'mcpServers.a.auth.clientSecret: is missing'],
  [
    '{ type: token_exchange, clientId: a, subjectToken: t }',
    "mcpServers.a.auth: needs 'issuer' or 'tokenUrl': the subject token must not go where the server points",
  ],
  [
    '{ type: authorization_code, tokenUrl: "file:///etc" }',
    'mcpServers.a.auth.tokenUrl: must be an http:// or https:// URL',
  ],
  ['{ type: bearer, token: "a\\nb" }', 'mcpServers.a.auth.token: must be one line'],
  ['signed', 'mcpServers.a.auth: must be a mapping (key: value)'],
])('auth: %s is a problem that names its key.', (auth, problem) => {
  expect(http(`auth: ${auth}`)).toEqual([problem]);
});

test('A fixed Authorization header beside auth is refused: only one of them can be sent.', () => {
  expect(http('headers: { authorization: x }, auth: { type: bearer, token: x }')).toEqual([
    "mcpServers.a.headers.authorization: contradicts 'auth'; keep one of the two",
  ]);
});

test('A header that cannot be sent is a problem that does not hold its value.', () => {
  expect(http('headers: { A: "tab\\t ok, ü", B: "" }')).toEqual([]);
  for (const value of ['sbx_token\\nunix:/broker.sock', 'a\\0', 'a\\r']) {
    expect(http(`headers: { X-Key: "${value}" }`)).toEqual([
      expect.stringMatching(/^mcpServers\.a\.headers\.X-Key: must be one line [a-z ;]+$/),
    ]);
  }
});

test('The name of a server is a line of at most 64 characters.', () => {
  const problem = (name: string) => problemsOf(`mcpServers: { "${name}": { command: x } }`)[0];
  expect(problem('My Files.2')).toBeUndefined();
  expect(problem('')).toContain('must not be empty');
  expect(problem('a\\e[31m')).toContain('must not contain control characters');
  expect(problem('a'.repeat(65))).toContain('at most 64 characters');
});

test('Budgets, limits, capability paths and hosts have good and bad values too.', () => {
  const good = [
    'mcpConfig: [./mcp.json, other.json]',
    'capabilities: ./capabilities',
    'allowHosts: [localhost, "10.0.*", "*.corp.example:8443", "[::1]:8080", "::1"]',
    'orchestrator: { maxProcesses: 8, budgets: { perWorker: { calls: 100, perSeconds: 60 } } }',
    'roles: { a: { tools: [], budget: { calls: 1, perSeconds: 1 }, sharedBudget: { calls: 9, perSeconds: 1 } } }',
  ];
  expect(problemsOf(good.join('\n'))).toEqual([]);
  const bad = [
    'mcpConfig: { file: x }',
    'capabilities: [1]',
    'allowHosts: ["https://internal.test/"]',
    'orchestrator: { maxProcesses: 0, budgets: { perRole: {} } }',
    'roles: { a: { tools: [], budget: { calls: 1 }, sharedBudget: 9 } }',
  ];
  expect(problemsOf(bad.join('\n'))).toEqual([
    'mcpConfig: must be a path, or a list of paths',
    'capabilities: must be a path, or a list of paths',
    "allowHosts[0]: must be a host or host:port, as in 10.0.0.7 or '*.internal:8080', without scheme and path",
    'orchestrator.maxProcesses: must be at least 1',
    "orchestrator.budgets.perRole: unknown key 'perRole'; known here: perWorker",
    'roles.a.budget.perSeconds: is missing',
    'roles.a.sharedBudget: must be written as { calls: 100, perSeconds: 60 }',
  ]);
});

test('A limit of a server is a whole number from 1 up, and its definitions must fit a page.', () => {
  expect(stdio('limits: { tools: 0 }')).toEqual([expect.stringContaining('mcpServers.a.limits.tools')]);
  expect(stdio('limits: { toolBytes: 2000000 }')).toEqual([expect.stringContaining('limits.toolBytes')]);
});
