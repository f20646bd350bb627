import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { type BrokerClient, connectBroker, type ServedRequest } from '@signalbox/client';
import { readStats } from '@signalbox/client/operator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { everything, type Site, startSite } from '../support/hosts/hosts.ts';

let site: Site;
let client: Client;
let token: string;
let host: BrokerClient;
/** What the host answers to the next calls. */
let answer: (request: ServedRequest) => object | Promise<object> = () => ({});
/** What the host answers in place of its servers. */
let nonsense: object | undefined;
let asked = (_isForEnd: boolean): void => {};
/** True if the host answers the question for its end with its end, and goes on. */
let feignsEnds = false;

/** Plays a host that somebody else has taken over: it has the token of a label, and answers what it likes. */
beforeAll(async () => {
  site = await startSite({
    mcpServers: { here: everything, hasty: { host: 'gpu', timeoutMs: 300 } },
    hosts: { gpu: ['render'] },
    roles: { artist: { tools: ['render:*', 'hasty:*', 'here:*'] } },
  });
  const file = join(site.hub.directory, 'gpu.host.token');
  const issue = ['token', 'issue', '--host', 'gpu', '--out', file, '--config', 'signalbox.yaml'];
  expect(await site.hub.run(issue)).toMatchObject({ code: 0 });
  token = /sbx_\S+/.exec(await readFile(file, 'utf8'))![0];
  const { url } = site.hub.ready.broker;
  host = await connectBroker({ url, token, agent: 'orchestrator.gpu' });
  const ready = (server: string) => ({ server, state: 'ready', version: '1' });
  const tools = [{ name: 'paint', inputSchema: { type: 'object' } }];
  const serve = async (request: ServedRequest) => {
    const { op, list, at_end } = request.json as { op: string; list?: string; at_end?: true };
    const kind = 'mcp_reply';
    const servers = ['render', 'hasty', 'here'].map(ready);
    if (op === 'hosted') {
      asked(at_end === true);
      const ends = at_end && feignsEnds && { ends: { successor: false } };
      return { kind, body: nonsense ?? { data: { servers, ...ends } } };
    }
    if (op !== 'hosted_list') return { kind, body: await answer(request) };
    return { kind, body: { data: { entries: list === 'tools' ? tools : [], more: false } } };
  };
  await host.serve(['mcp_request'], serve, { lanes: join(site.hub.directory, 'state', 'named.sock') });
  client = await site.client('rosa', 'artist');
});
afterAll(async () => {
  await host?.close();
  await site?.[Symbol.asyncDispose]();
});

/** Calls the tool of the host once it is listed. Resolves with what the agent gets, as text. */
async function paint(options = {}, name = 'mcp_render__paint'): Promise<string> {
  const names = async () => (await client.listTools()).tools.map(({ name }) => name);
  await expect.poll(names, { timeout: 30_000 }).toContain(name);
  const call = client.callTool({ name, arguments: {} }, options);
  return JSON.stringify(await call.catch((error: unknown) => String(error)));
}

/** An error as a host tells it. */
const told = (code: string, more = {}) => ({
  error: { code, message: 'no', category: 'permanent', retryable: false, may_have_run: false, ...more },
});

test('A host that claims a decision of a person or an operator is not believed.', async () => {
  for (const code of ['approval_denied', 'approval_expired', 'approval_superseded', 'held', 'no_turn']) {
    answer = () => told(code);
    expect(await paint()).toContain(`host 'gpu' answered ${code}, which only this orchestrator decides`);
  }
  answer = () => told('tool_not_found');
  expect(await paint()).toContain("tool_not_found: host 'gpu': no");
});

test('The words of an error of a host are as short as those of a server.', async () => {
  const long = 'w'.repeat(100_000);
  const causes = Array.from({ length: 50 }, () => 'c'.repeat(5_000));
  answer = () =>
    told('internal', {
      ...{ message: long, hint: long, cause_chain: causes },
      rpc_error: { code: 7, message: long, data: long },
    });
  expect((await paint()).length).toBeLessThan(40_000);
});

test('Reports of a host that are no progress and no log messages reach nobody, and the others do.', async () => {
  const problems: string[] = [];
  client.onerror = (error) => problems.push(String(error));
  // Progress that comes after the result is dropped.
  const { promise: lastSeen, resolve: seeLast } = Promise.withResolvers<void>();
  answer = async (request) => {
    for (const body of [
      { progress: 1, total: 'all', message: { a: 1 } },
      { progress: 'none' },
      { log: { level: 'loud', data: 1 } },
      { log: { level: 'error', data: 1, logger: 5 } },
      5,
      { progress: 2, total: 3, message: 'two' },
    ])
      request.progress(body);
    await lastSeen;
    return { result: { content: [{ type: 'text', text: 'done' }] } };
  };
  const steps: unknown[] = [];
  const onprogress = (step: { progress: number }): void => {
    steps.push(step);
    if (step.progress === 2) seeLast();
  };
  expect(await paint({ onprogress })).toContain('done');
  expect(steps).toEqual([{ progress: 1 }, { progress: 2, total: 3, message: 'two' }]);
  expect(problems).toEqual([]);
});

test('A host that came over the network is sent its calls by the broker, whatever socket of this machine it names.', async () => {
  const ways: boolean[] = [];
  answer = ({ mayWait }) => {
    ways.push(mayWait);
    return { result: { content: [] } };
  };
  for (let call = 0; call < 8; call++) await paint();
  // What comes on a lane may not wait.
  expect(ways).toEqual(Array.from({ length: 8 }, () => true));
});

test('A host stores nothing at the orchestrator but replies to its requests.', async () => {
  for (const kind of ['progress', 'mcp_reply']) {
    const message = { to: 'orchestrator', kind, correlationId: 'not-asked', body: {} };
    await expect(host.deliver(message)).rejects.toMatchObject({ code: 'forbidden' });
  }
});

test('A reply that comes after the deadline of its call reaches nobody, and the next call is answered.', async () => {
  const { promise: replied, resolve: reply } = Promise.withResolvers<void>();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  answer = async () => {
    // The clocks of both sides differ by the way between them.
    await ended;
    queueMicrotask(reply);
    return { result: { content: [{ type: 'text', text: 'late' }] } };
  };
  expect(await paint({}, 'mcp_hasty__paint')).toMatch(/tool_timeout|outcome_unknown/);
  end();
  await replied;
  answer = () => ({ result: { content: [{ type: 'text', text: 'in time' }] } });
  expect(await paint()).toContain('in time');
  await expect
    .poll(() => readStats(site.operator))
    .toMatchObject({ pending: 0, scheduled: 0, dead_letters: 0 });
});

test('Calls of one agent that are too large to be passed on close the way of no other call.', async () => {
  answer = () => ({ result: { content: [{ type: 'text', text: 'small' }] } });
  const { env } = await site.hub.agent('mallory', 'artist');
  const own = (await readFile(env.SIGNALBOX_TOKEN_FILE!, 'utf8')).trim();
  await using mallory = await connectBroker({
    url: site.hub.ready.broker.url,
    token: own,
    agent: 'mallory#x',
  });
  const { bytes } = mallory.welcome.limits.message!;
  const body = { op: 'call', tool: 'mcp_render__paint', arguments: { of: '' } };
  body.arguments.of = 'x'.repeat(bytes! - JSON.stringify(body).length);
  for (let call = 0; call < 5; call++) {
    const outcome = await mallory.request('orchestrator', 'mcp_request', body, { timeoutMs: 20_000 });
    if (outcome.status !== 'completed') throw new Error(outcome.status);
    expect(JSON.stringify(outcome.reply.json)).toContain('the broker takes at most');
    expect(outcome.reply.json).not.toMatchObject({ error: { retry_after_seconds: expect.anything() } });
  }
  expect(await paint()).toContain('small');
});

test('A host whose answers cannot be read is logged once, and its tools come back when they can.', async () => {
  nonsense = { data: { servers: 'none' } };
  let questions = 0;
  const { promise: askedOften, resolve } = Promise.withResolvers<void>();
  asked = () => {
    if (++questions === 4) resolve();
  };
  await askedOften;
  const logged = () => site.hub.up.stderr().split('host not understood').length - 1;
  await expect.poll(logged, { timeout: 20_000 }).toBe(1);
  nonsense = undefined;
  answer = () => ({ result: { content: [{ type: 'text', text: 'again' }] } });
  await expect.poll(() => paint(), { timeout: 30_000 }).toContain('again');
  expect(logged()).toBe(1);
});

test('A host that offers other servers with each answer fills neither the log nor what people read.', async () => {
  let answers = 0;
  const { promise: askedOften, resolve } = Promise.withResolvers<void>();
  asked = (isForEnd) => {
    if (isForEnd) return;
    const other = (n: number) => ({
      ...{ server: `${++answers}-${n}\u001b[2J\u202e`.padEnd(256, 'n'), state: 'ready', version: '1' },
    });
    nonsense = { data: { servers: Array.from({ length: 200 }, (_, n) => other(n)) } };
    if (answers > 200 * 5) resolve();
  };
  const logged = () => site.hub.up.stderr().split('of the configuration does not name: refused');
  const before = logged().length;
  await askedOften;
  // Further refusals are logged after a minute.
  expect(logged().length - before).toBeLessThanOrEqual(1);
  const { stdout } = await site.hub.run(['servers', '--config', 'signalbox.yaml']);
  asked = () => {};
  nonsense = undefined;
  const line = stdout.split('\n').find((text) => text.startsWith('host gpu serves'))!;
  expect(line).toMatch(/ and 90 more, which hosts.gpu of the configuration does not name: refused$/);
  expect(line.length).toBeLessThan(1200);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may be there.
  expect(stdout + site.hub.up.stderr()).not.toMatch(/\u001b\[2J|\u202e/);
});

test('A host that says that it ends, and goes on, is asked no more often than another one.', async () => {
  const questions: boolean[] = [];
  const { promise: askedOften, resolve } = Promise.withResolvers<void>();
  const ends = (): number => questions.filter(Boolean).length;
  asked = (isForEnd) => {
    questions.push(isForEnd);
    if (ends() === 4) resolve();
  };
  feignsEnds = true;
  await askedOften;
  feignsEnds = false;
  // It is asked for its end again after a question that comes each second, not only after the one that follows an end.
  const between = questions.slice(questions.indexOf(true), questions.lastIndexOf(true));
  expect(between.filter((isForEnd) => !isForEnd).length).toBeGreaterThanOrEqual(2 * 3);
});
