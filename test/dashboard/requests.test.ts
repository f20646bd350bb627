import { readFileSync } from 'node:fs';
import { issueToken, revokeAgentTokens } from '@signalbox/client/operator';
import { commands, reads } from '@signalbox/daemon/dashboard';
import { expect, test } from 'vitest';
import { jsonOf, signedIn } from '../support/dashboard/api-sign-in.ts';
import { startDashboardStack } from '../support/dashboard/dashboard-stack.ts';
import { ask } from '../support/http/ask.ts';

test('What another page asks for is refused, and so is a name that was rebound to this machine.', async () => {
  await using here = await startDashboardStack({ counter: false });
  const mine = await signedIn(here);
  const note = { to: 'operator', text: 'hello' };
  const codeOf = (answer: { body: string }) => JSON.parse(answer.body).error.code;
  for (const origin of ['http://evil.example', 'http://127.0.0.1:1', 'null'])
    expect(codeOf(await mine.post('messages/send', note, { origin })), origin).toBe('forbidden_origin');
  const site = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' };
  expect(codeOf(await mine.get('sign-in', site))).toBe('forbidden_origin');
  expect(codeOf(await mine.post('messages/send', note, { ...site, origin: here.origin }))).toBe(
    'forbidden_origin',
  );
  const rebound = await mine.get('sign-in', { host: 'evil.example' });
  expect(rebound.status).toBe(403);
  expect(JSON.parse(rebound.body)).toEqual({
    error: { code: 'forbidden_host', message: expect.stringContaining('trustedOrigins') },
  });
  const form = await mine.post('messages/send', note, { 'content-type': 'text/plain' });
  expect(form).toMatchObject({ status: 400, body: expect.stringContaining('must be JSON') });
  expect((await mine.post('messages/send', note)).status).toBe(200);
});

test('A path is answered for its own method alone.', async () => {
  await using here = await startDashboardStack({ counter: false });
  const mine = await signedIn(here);
  const headers = { host: new URL(here.origin).host, origin: here.origin, cookie: mine.cookie };
  const statusOf = async (method: string, path: string) => {
    const all = { ...headers, 'x-signalbox-key': mine.key };
    return (await ask({ port: here.stack.broker.port }, `/api/${path}`, { method, headers: all })).status;
  };
  for (const method of ['PUT', 'PATCH', 'DELETE', 'POST']) expect(await statusOf(method, 'tokens')).toBe(404);
  expect(await statusOf('GET', 'messages/send')).toBe(404);
  expect(await statusOf('HEAD', 'tokens')).toBe(200);
});

test('The page is shown in no frame, and runs no script but its own.', async () => {
  await using here = await startDashboardStack({ counter: false });
  const port = { port: here.stack.broker.port };
  const page = await ask(port, '/ui/');
  expect(page.headers).toMatchObject({
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
  });
  const policy = page.headers['content-security-policy'] as string;
  expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toContain('unsafe');
  expect(page.body).not.toMatch(/<script(?![^>]*src=)|<style|style=|onload=/);
  const script = /src="\.\/(assets\/[^"]+\.js)"/.exec(page.body)![1]!;
  expect(await ask(port, `/ui/${script}`)).toMatchObject({
    status: 200,
    headers: { 'cache-control': expect.stringContaining('immutable') },
  });
  expect(await ask(port, '/ui')).toMatchObject({ status: 308, headers: { location: '/ui/' } });
  for (const path of ['/ui/../package.json', '/ui/%2e%2e/package.json', '/ui/assets', '/api/nothing', '/uix'])
    expect((await ask(port, path)).status, path).toBeGreaterThanOrEqual(401);
});

test('A command needs a key, runs once under it, and says what is wrong with its parameters.', async () => {
  await using here = await startDashboardStack({ counter: false });
  const mine = await signedIn(here);
  const ann = await here.stack.clientAt('ann');
  await using inbox = await ann.subscribe();
  const note = { to: 'ann', text: 'hello' };
  expect(await mine.post('messages/send', note, { 'idempotency-key': '' })).toMatchObject({ status: 400 });
  const once = { 'idempotency-key': 'the-same-key' };
  const [first, second] = [
    await mine.post('messages/send', note, once),
    await mine.post('messages/send', note, once),
  ];
  expect([jsonOf(first).id, jsonOf(second).id]).toEqual(['the-same-key', 'the-same-key']);
  expect((await inbox.messages.next()).value).toMatchObject({ body: '"hello"', from: { role: 'operator' } });
  expect(await ann.peek()).toHaveLength(1);
  const other = await mine.post('messages/send', { to: 'ann', text: 'other' }, once);
  expect(other).toMatchObject({ status: 409, body: expect.stringContaining('key_reused') });
  const wrong = await mine.post('dead-letters/retry', { seqs: [] });
  expect(wrong).toMatchObject({ status: 400, body: expect.stringContaining("'seqs'") });
  const nobody = await mine.post('messages/send', { to: 'nobody', text: 'x' });
  expect(nobody).toMatchObject({ status: 404, body: expect.stringContaining('unknown_recipient') });
});

test('A question is shown and answered once under its key; a wrong field is named, and nobody answers for an agent.', async () => {
  await using here = await startDashboardStack({ counter: false });
  const mine = await signedIn(here);
  const ann = await here.stack.clientAt('ann');
  const bob = await here.stack.clientAt('bob');
  // A page of waiting messages ends at a megabyte of bodies, also if they are left out.
  for (const _ of [1, 2]) await bob.deliver({ to: 'operator', kind: 'note', body: 'x'.repeat(900_000) });
  await ann.deliver({
    to: 'operator',
    kind: 'ask',
    id: 'q',
    body: { text: 'key sk-ant-api03-0123456789abcdefghij?' },
  });
  await ann.deliver({ to: 'bob', kind: 'ask', id: 'q', body: 'other' });
  // The same id, but another request.
  await bob.deliver({ to: 'ann', kind: 'reply', id: 'of-bob', correlationId: 'q', body: 'no' });
  const { items } = jsonOf(await mine.get('attention'));
  const { question } = items.find(({ who }: { who: string }) => who === 'ann');
  const shown = jsonOf(await mine.get(`messages/show?inbox=${question.inbox}&seq=${question.seq}`));
  expect(shown).toMatchObject({ id: 'q', from: { agent: 'ann' }, kind: 'ask' });
  expect(shown.body).not.toContain('0123456789abcdefghij');
  const answer = { to: 'ann', id: 'q', asked: 'operator', text: 'yes' };
  const wrong: [object, number, string][] = [
    [{ ...answer, to: 'No Body' }, 400, "'to'"],
    [{ ...answer, id: '' }, 400, "'id'"],
    [{ ...answer, asked: 'role:x' }, 400, "'asked'"],
    [{ ...answer, text: '  ' }, 400, "'text'"],
    [{ ...answer, text: 'x'.repeat(100_001) }, 400, "'text'"],
    [{ ...answer, asked: 'bob' }, 403, "field 'asked'"],
    [{ ...answer, to: 'bob' }, 403, "no request 'q' of 'bob'"],
  ];
  for (const [params, status, text] of wrong)
    expect(await mine.post('messages/answer', params), text).toMatchObject({
      status,
      body: expect.stringContaining(text),
    });
  const once = { 'idempotency-key': 'the-answer' };
  for (const _ of [1, 2])
    expect(await mine.post('messages/answer', answer, once)).toMatchObject({ status: 200 });
  expect(await ann.peek()).toMatchObject([
    { id: 'of-bob' },
    { id: 'the-answer', correlation_id: 'q', body: '"yes"' },
  ]);
  expect(await mine.post('messages/answer', { ...answer, text: 'no' })).toMatchObject({
    status: 409,
    body: expect.stringContaining("you ('operator') have answered this already"),
  });
  const gone = await mine.get(`messages/show?inbox=operator&seq=${question.seq}`);
  expect(gone).toMatchObject({ status: 404, body: expect.stringContaining('unknown_message') });
  expect(await ann.peek()).toHaveLength(2);
});

test('Every read answers, and what only the orchestrator knows is missing without it, and not empty.', async () => {
  await using here = await startDashboardStack({ counter: false });
  const mine = await signedIn(here);
  const queries: Record<string, string> = {
    timeline: '?since=0',
    'threads/show': '?thread=t',
    audit: '?since=0',
    charts: '?of=system',
  };
  const plain = Object.keys(reads).filter(
    (path) =>
      !['approvals/show', 'calls/show', 'dead-letters/show', 'messages/show', 'explain'].includes(path),
  );
  for (const path of plain) expect((await mine.get(path + (queries[path] ?? ''))).status, path).toBe(200);
  expect((await mine.get('explain?role=builder&tool=mcp_counter__echo')).status).toBe(200);
  expect(jsonOf(await mine.get('calls'))).toEqual({ calls: [], known_since: expect.any(Number) });
  // Without its token it does not come back, as it might after a restart.
  await revokeAgentTokens(await here.stack.client('operator', 'operator'), 'orchestrator');
  const paths = ['calls', 'approvals', 'approvals/standing', 'attention'];
  const answers = (await Promise.all(paths.map((path) => mine.get(path)))).map(jsonOf);
  const missing = { missing: { code: 'no_consumer' } };
  expect(answers.slice(0, 3)).toMatchObject([
    { calls: missing },
    { approvals: missing },
    { standing: missing },
  ]);
  const { items, checked } = answers[3];
  expect(items).toMatchObject([{ id: 'orchestrator', level: 'now' }]);
  for (const what of ['approval', 'call']) expect(checked).toContainEqual({ what, count: null });
});

test('An agent that announces many turns, or times of no calendar, is one item at most, and each time is a date.', async () => {
  await using here = await startDashboardStack({ counter: false });
  const mine = await signedIn(here);
  const [many, never] = [await here.stack.client('many'), await here.stack.client('never')];
  const turn = (since: number) => ({ id: 'm1', from: 'walt', kind: 'task', since });
  const status = { worker: 'serve', command: 'sh', turns: 1 };
  many.announce({ ...status, private: { running: Array.from({ length: 20 }, () => turn(1)) } });
  for (const since of [-1e300, 1e300])
    never.announce({
      ...status,
      failing_since: since,
      last_output_at: since,
      private: { running: [turn(since)] },
    });
  const itemsOf = async (agent: string) =>
    (jsonOf(await mine.get('attention')).items as { who: string; what: string }[]).filter(
      ({ who }) => who === agent,
    );
  const what = '20 turns work, the oldest on the task of walt, and have not ended; 0 messages unread.';
  await expect.poll(() => itemsOf('many')).toMatchObject([{ what, since: 1 }]);
  expect(await itemsOf('never')).toEqual([]);
  const { agents } = jsonOf(await mine.get('agents')) as { agents: { agent: string }[] };
  expect(agents.find(({ agent }) => agent === 'never')).not.toHaveProperty('failing');
});

test('The events of a sign-in are streamed with ids, and a stream that broke off goes on behind the last one.', async () => {
  await using here = await startDashboardStack({ counter: false });
  const mine = await signedIn(here);
  const headers = { cookie: mine.cookie, 'x-signalbox-key': mine.key };
  const open = async (lastId?: string) => {
    const abort = new AbortController();
    const response = await fetch(`${here.origin}/api/events`, {
      headers: { ...headers, ...(lastId !== undefined && { 'last-event-id': lastId }) },
      signal: abort.signal,
    });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    const until = async (pattern: RegExp) => {
      for (;;) {
        const found = pattern.exec(text);
        if (found) return found;
        text += (await reader.read()).value;
      }
    };
    return { until, close: () => abort.abort() };
  };
  const sender = await here.stack.client('ann');
  const first = await open();
  await first.until(/"resumed":false/);
  await sender.deliver({ to: 'operator', kind: 'note', id: 'n1' });
  const [, lastId] = await first.until(/id: (\S+)\nevent: batch\n.*"id":"n1"/);
  expect(lastId).toMatch(/^[\w-]+\.\d+$/);
  first.close();
  await sender.deliver({ to: 'operator', kind: 'note', id: 'n2' });
  const second = await open(lastId);
  await second.until(/"id":"n2"/);
  await second.until(/"resumed":true/);
  second.close();
  const third = await open('other.5');
  await third.until(/"resumed":false/);
  third.close();
});

test('The document of the API lists each of its paths, and nothing else.', () => {
  const page = readFileSync(new URL('../../docs/dashboard-api.md', import.meta.url), 'utf8');
  const rows = [...Object.entries(reads), ...Object.entries(commands)].map(
    ([path, { method, needs, meaning }]) =>
      `| \`${method} /api/${path}\` | ${needs.join(', ')} | ${meaning} |`,
  );
  expect(page.split('\n').filter((line) => /^\| `(GET|POST) \/api\/(?!sign-in|events)/.test(line))).toEqual(
    rows,
  );
});

test('What pages of several people share leaves out the page that asks, and nothing that a command changed.', async () => {
  await using here = await startDashboardStack({ counter: false });
  const operator = await here.stack.client('operator', 'operator');
  const as = async (name: string, role: string) =>
    await signedIn(here, (await issueToken(operator, { agent: `operator.${name}`, role })).token);
  const [ann, bob, cid] = [
    await as('ann', 'operator'),
    await as('bob', 'operator'),
    await as('cid', 'observer'),
  ];
  const namesFor = async (one: typeof ann) =>
    jsonOf(await one.get('agents')).agents.map(({ agent }: { agent: string }) => agent);
  await Promise.all([ann, bob, cid].map((one) => one.get('sign-in')));
  const [forAnn, forBob, forCid] = await Promise.all([ann, bob, cid].map(namesFor));
  expect(forAnn).not.toContain('operator.ann');
  expect(forAnn).toEqual(expect.arrayContaining(['operator.bob', 'operator.cid']));
  expect(forBob).not.toContain('operator.bob');
  expect(forBob).toContain('operator.ann');
  expect(forCid).toContain('operator.ann');
  expect(jsonOf(await bob.get('holds')).holds).toEqual([]);
  await ann.post('holds/place', { on: 'all', reason: 'a look at it' });
  for (const one of [ann, bob, cid]) expect(jsonOf(await one.get('holds')).holds).toHaveLength(1);
});
