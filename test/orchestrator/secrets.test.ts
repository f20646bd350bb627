import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BrokerClient, connectBroker, requestAddress } from '@signalbox/client';
import { decideApproval, listApprovals, readAudit } from '@signalbox/client/operator';
import { RoleToolAllowlist } from '@signalbox/orchestrator';
import {
  type Approval,
  approvalsReplySchema,
  explanationSchema,
  serversReplySchema,
} from '@signalbox/protocol';
import { connectWire, tempDir } from '@signalbox/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { jsonOf } from '../support/cli/command-line.ts';
import { serverScript, startWorkspace, type Workspace } from '../support/cli/workspace.ts';
import { nonstandardServer, toolNamed } from '../support/mcp-host/test-servers.ts';
import { explained } from '../support/orchestrator/explained-step.ts';
import { ask, askData, callError } from '../support/orchestrator/requests.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

const variables = { REFERRED: 'referred-value', REGION: 'eu-north-1', LONG: 'a "long" line\n'.repeat(1000) };
const reference = (name: string) => `\${env:${name}}`;

let workspace: Workspace;

beforeAll(async () => {
  const script = (name: string) => serverScript(`@modelcontextprotocol/server-${name}`);
  const everything = {
    command: process.execPath,
    args: [script('everything')],
    env: {
      K8S_NAMESPACE: 'default',
      API_KEY: 'named-secret',
      FROM_VARIABLE: reference('REFERRED'),
      LONG_TEXT: reference('LONG'),
      REGION: { value: reference('REGION'), secret: false },
      PIN: { value: 'marked-pin', secret: true },
      ANY: `ghp_${'0aA'.repeat(12)}`,
      DB: 'postgres://rosa-app:db-passw0rd@db.example/orders',
    },
  };
  const files = {
    command: process.execPath,
    args: [script('filesystem'), '/nowhere/default'],
    ...{ env: { K8S_NAMESPACE: 'default' }, maxRestarts: 0 },
  };
  const config = {
    broker: { listen: '127.0.0.1:0', data: './state' },
    mcpServers: { everything, files },
    roles: {
      worker: { tools: ['*'], ask: ['everything:echo'] },
      strict: { tools: ['*'], ask: ['everything:echo', { tool: 'everything:*', hidden: 'deny' }] },
      typist: { tools: ['*'], ask: [{ tool: 'everything:echo', when: { 'message.path': '/srv/prod/**' } }] },
    },
    approvals: { notify: ['bridge'] },
  };
  workspace = await startWorkspace(() => JSON.stringify(config), { env: variables });
});

afterAll(() => workspace[Symbol.asyncDispose]());

const tool = 'mcp_everything__echo';

/** Connects as an agent, or as the operator. */
async function connect(agent: string, role?: string): Promise<BrokerClient> {
  const { url } = workspace.ready.broker;
  if (role !== undefined) await workspace.agent(agent, role);
  const file = role === undefined ? join('state', 'operator.token') : `${agent}.token`;
  const token = (await readFile(join(workspace.directory, file), 'utf8')).trim();
  return await connectBroker({ url, token, agent: role === undefined ? requestAddress(agent) : agent });
}

/** Resolves with the approval that waits, as soon as there is one. */
async function onlyPending(operator: BrokerClient): Promise<Approval> {
  const pending = async () => (await listApprovals(operator, 'orchestrator', { limit: 10 })).approvals;
  await expect.poll(pending).toHaveLength(1);
  return (await pending())[0]!;
}

test('a secret is what came from a variable, is named or looks like one, or is marked so: it is removed from results and errors alike, and every other literal is shown', async () => {
  await using rita = await connect('rita', 'worker');
  const reply = await ask(rita, { op: 'call', tool: 'mcp_everything__get-env', arguments: {} });
  const { content } = ('result' in reply ? reply.result : {}) as { content: { text: string }[] };
  expect(JSON.parse(content[0]!.text)).toMatchObject({
    K8S_NAMESPACE: 'default',
    API_KEY: '[redacted]',
    FROM_VARIABLE: '[redacted]',
    LONG_TEXT: '[redacted]',
    REGION: 'eu-north-1',
    PIN: '[redacted]',
    ANY: '[redacted]',
    DB: 'postgres://[redacted]@db.example/orders',
  });
  await using operator = await connect('operator');
  const { servers } = await askData(operator, { op: 'servers' }, serversReplySchema);
  const tailOf = (server: string) => servers.find(({ name }) => name === server)?.stderr_tail;
  expect(tailOf('files')).toContain('/nowhere/default');
  const { stdout } = await workspace.run(['config', 'check'], variables);
  for (const line of [
    /^everything +env.K8S_NAMESPACE +shown +-$/m,
    /^everything +env.API_KEY +secret +its name means a secret$/m,
    /^everything +env.FROM_VARIABLE +secret +it comes from a variable or a file$/m,
    /^everything +env.REGION +shown +its entry says so$/m,
    /^everything +env.PIN +secret +its entry says so$/m,
    /^everything +env.ANY +secret +it holds a credential$/m,
  ])
    expect(stdout).toMatch(line);
  expect(stdout).not.toMatch(/eu-north|referred-v|marked-pin|passw0rd/);
});

test('the person who decides sees everything that the tool gets, whatever its name, except tokens and secrets of the configuration, of which they see length and hash; others see no secret by name', async () => {
  await using bridge = await connect('bridge', 'worker');
  await using rosa = await connect('rosa', 'worker');
  await using operator = await connect('operator');
  const args = {
    message: 'uses referred-value in default',
    key: 'prod/customers',
    password: 'typed-by-rosa',
  };
  await using inbox = await bridge.subscribe();
  const called = ask(rosa, { op: 'call', tool, arguments: args });
  const { value: note } = await inbox.messages.next();
  const [{ id } = { id: '' }] = (await askData(operator, { op: 'approvals' }, approvalsReplySchema))
    .approvals;
  const shown = await workspace.run(['approvals', 'show', id, '--json', '--data', 'state']);
  const { approval } = jsonOf(shown) as { approval: Approval };
  expect(approval.hidden).toBe(1);
  expect(JSON.parse(approval.arguments!)).toEqual({
    ...args,
    message: expect.stringMatching(
      /^uses \[hidden: 14 characters, hash [\w-]{12}, mcpServers\.everything\.env\.FROM_VARIABLE\] in default$/,
    ),
  });
  const audited = async () => JSON.stringify(await readAudit(operator, { since: 0, limit: 1000 }));
  await expect.poll(audited).toContain(approval.arguments_hash);
  expect(note.body).toContain(approval.arguments_hash);
  for (const text of [note.body, await audited()])
    expect(text).not.toMatch(/prod\/customers|typed-by-rosa|referred-value/);
  await workspace.run(['approve', id, '--data', 'state']);
  expect(await called).toMatchObject({ result: { content: [{ text: expect.stringContaining('default') }] } });
});

test('a rule denies a call that would hide a value from those who decide, before anybody is asked, and explain says so', async () => {
  await using stan = await connect('stan', 'strict');
  await using operator = await connect('operator');
  expect(await callError(stan, tool, { message: 'referred-value' })).toMatchObject({
    ...{ code: 'approval_denied', may_have_run: false, message: expect.stringContaining('ask[1]') },
  });
  const explain = (message: string) =>
    askData(operator, { op: 'explain', role: 'strict', tool, arguments: { message } }, explanationSchema);
  expect(await explain('referred-value')).toEqual(
    explained('approval', { verdict: 'refused', rule: 'roles.strict.ask[1]' }),
  );
  expect(await explain('default')).toEqual(
    explained('approval', { verdict: 'waits', rule: 'roles.strict.ask[0]' }),
  );
  const { stdout } = await workspace.run(['tools', 'explain', 'strict', tool, '--data', 'state']);
  expect(stdout).toMatch(
    /^ +approval +waits: a call waits until a person approves it, and is denied if .* hidden .* \(roles\.strict\.ask\[1\]\) \(roles\.strict\.ask\[0\]\)$/m,
  );
});

test('a JSON text that has one name twice asks a person if a rule means any of the values, since a server may read either', async () => {
  await using theo = await connect('theo', 'typist');
  await using operator = await connect('operator');
  for (const message of [
    '{"path":"/srv/prod/app","path":"/tmp"}',
    '{"path":"/tmp","p\\u0061th":"/srv/prod/app"}',
  ]) {
    const called = callError(theo, tool, { message });
    const { id, arguments: shown = '' } = await onlyPending(operator);
    expect(JSON.parse(shown)).toEqual({ message });
    await decideApproval(operator, 'orchestrator', id, { verdict: 'deny', reason: 'no' });
    expect(await called).toMatchObject({ code: 'approval_denied' });
  }
  const allowed = '{"path":"/tmp","note":{"path":"/srv/prod/app"}}';
  expect(await ask(theo, { op: 'call', tool, arguments: { message: allowed } })).toHaveProperty('result');
});

test('a call with two values of a name reaches neither rules, persons nor server: it is refused, in the frame as in its text of arguments', async () => {
  await workspace.agent('wanda', 'typist');
  const token = (await readFile(join(workspace.directory, 'wanda.token'), 'utf8')).trim();
  await using wanda = await connectWire(workspace.ready.broker.url, { agent: 'wanda', token });
  wanda.send({ type: 'subscribe', window: 8, request_id: 's' });
  const [harmless, prod] = [JSON.stringify({ path: '/tmp' }), JSON.stringify({ path: '/srv/prod/app' })];
  const call = async (args: string) => {
    const header = { type: 'deliver', to: 'orchestrator', kind: 'mcp_request', id: `w-${sent++}` };
    wanda.send({ ...header, ttl_ms: 20_000 }, `{"op":"call","tool":"${tool}","arguments":${args}}`);
    return (await wanda.next('message', { kind: 'mcp_reply' })).body;
  };
  let sent = 0;
  for (const form of [(text: string) => text, JSON.stringify]) {
    for (const [first, last] of [
      [prod, harmless],
      [harmless, prod],
    ]) {
      const reply = await call(
        form(`{"message":${JSON.stringify(first)},"message":${JSON.stringify(last)}}`),
      );
      expect(JSON.parse(reply!)).toMatchObject({
        error: {
          code: 'invalid_arguments',
          message: expect.stringContaining('has the name "message" twice in one object'),
          may_have_run: false,
        },
      });
    }
    expect(await call(form(JSON.stringify({ message: harmless })))).toContain('Echo');
  }
});

/** The secrets that no reply may show. */
const canaries = [
  'canary-of-env',
  'canary-of-header',
  'canary-of-url',
  'canary-of-bearer',
  'canary-of-password',
];

test('no reply of any op shows a secret of any server, nor to a worker what other servers there are', async () => {
  await using directory = await tempDir();
  const listFile = join(directory.path, 'list.json');
  await writeFile(listFile, JSON.stringify({ pages: [[toolNamed('refuse'), toolNamed('announce')]] }));
  const nowhere = 'http://user:canary-of-password@127.0.0.1:1/mcp?key=canary-of-url';
  await using stack = await startToolStack({
    servers: {
      odd: nonstandardServer(listFile, { SERVER_SECRET: 'canary-of-env' }),
      hidden_away: { type: 'http', url: nowhere, headers: { Authorization: 'Bearer canary-of-header' } },
      signed_in: {
        type: 'http',
        url: 'http://127.0.0.1:1/mcp',
        auth: { type: 'bearer', token: 'canary-of-bearer' },
      },
    },
    allowlist: RoleToolAllowlist.fromEntries([['reader', ['mcp_counter__e*', 'mcp_odd__*']]]),
  });
  const operator = await stack.client('operator', 'operator');
  const reader = await stack.client('rita', 'reader');
  const collect = async (client: BrokerClient, bodies: object[]) => {
    const replies: string[] = [];
    for (const body of bodies) replies.push(JSON.stringify(await ask(client, body)));
    return replies;
  };
  const questions = [
    { op: 'manifest' },
    { op: 'call', tool: 'mcp_odd__refuse' },
    { op: 'call', tool: 'mcp_odd__refus' },
    { op: 'call', tool: 'mcp_hidden_away__x' },
    { op: 'call', tool: 'mcp_counter__echo', arguments: '[' },
    { op: 'status', request_id: 'unheard-of' },
    { op: 'search', query: 'canary secret hidden_away odd' },
    { op: 'explain', role: 'reader', tool: 'mcp_hidden_away__x' },
    { op: 'servers' },
    { op: 'calls' },
    { op: 'discover' },
    { op: 'reload', server: 'hidden_away' },
    { op: 'start', server: 'hiden_away' },
    { op: 'stop', server: 'signed_in' },
    { op: 'nonsense' },
  ];
  const forReader = await collect(reader, questions);
  const forOperator = await collect(operator, [...questions, { op: 'servers' }]);
  const [, refused] = forReader;
  expect(refused).toContain('bad arguments, [redacted]');
  expect(forOperator[3]).toContain('mcp_server_unreachable');
  const everything = [...forReader, ...forOperator].join('\n');
  for (const canary of canaries) expect(everything).not.toContain(canary);
  for (const [n, reply] of forReader.entries()) {
    // Text of the reader itself may come back in its error.
    if (!JSON.stringify(questions[n]).includes('away')) expect(reply).not.toMatch(/hidden_away|signed_in/);
    expect(reply).not.toContain('127.0.0.1');
  }
  const { servers } = await askData(operator, { op: 'servers' }, serversReplySchema);
  const odd = servers.find(({ name }) => name === 'odd');
  expect(odd?.stderr_tail).toContain('[redacted] end of noise');
  expect(servers.find(({ name }) => name === 'hidden_away')?.last_error).toBeTruthy();
});
