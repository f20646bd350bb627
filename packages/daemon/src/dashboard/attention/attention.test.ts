import type { AgentSummary } from '@signalbox/client/operator';
import type { Approval, CallRecord, DefinitionsReply, Hold, ServerReport } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { type AttentionFacts, attentionOf } from './attention.ts';

const now = 1_000_000_000;
const minute = 60_000;

function facts(change: Partial<AttentionFacts> = {}): AttentionFacts {
  return {
    broker: {
      version: '0.1.0',
      started_at: 0,
      connections: 1,
      leases: 0,
      pending: 0,
      dead_letters: 0,
      scheduled: 0,
      used_bytes: 1,
      max_bytes: 100,
      disk_bytes: 1,
      free_bytes: 1024 ** 4,
      receipt_means: 'fsynced',
      activity: {
        stored: 0,
        delivered: 0,
        redelivered: 0,
        settled: 0,
        commits: { count: 0, sum_ms: 0 },
        syncs: { count: 0, sum_ms: 0 },
      },
    },
    hold: undefined,
    agents: [],
    deadLetters: { messages: [], more: false },
    tokens: [],
    hooks: [],
    orchestrator: { name: 'orchestrator', state: 'ready', servers: [] },
    calls: [],
    holds: [],
    stranded: [],
    own: 'operator.alice',
    people: [],
    ...change,
  };
}

function agent(change: Partial<AgentSummary>): AgentSummary {
  return {
    ...{ agent: 'rosa', roles: ['worker'], state: 'idle', running: 0, connected_at: 0 },
    ...{ clients: [], brokers: [], announced: [], mail: { unread: 2, held: 0 } },
    ...change,
  } as AgentSummary;
}

function server(change: Partial<ServerReport>): AttentionFacts['orchestrator'] {
  const report = {
    name: 'files',
    state: 'ready',
    circuit: 'closed',
    tool_problems: [],
    stderr_tail: '',
    ...change,
  };
  return { name: 'orchestrator', state: 'ready', servers: [report as unknown as ServerReport] };
}

function call(change: Partial<CallRecord>): CallRecord {
  const base = {
    request_id: 'r1',
    agent: 'rosa',
    role: 'worker',
    tool: 'mcp_a__b',
    state: 'running',
  } as const;
  return { ...base, received_at: now - 11 * minute, started_at: now - 11 * minute, ...change };
}

test('Where all is fine, nothing needs a person.', () => {
  const quiet = facts({
    agents: [
      agent({ oldest_at: now - 9 * minute }),
      agent({ mail: { unread: 0, held: 0 } }),
      // The calls that wait or run are its mail.
      agent({ roles: ['orchestrator'], mail: { unread: 4, held: 4 }, oldest_at: now - 40 * minute }),
    ],
    calls: [
      call({ started_at: now - minute, received_at: now - minute }),
      call({ state: 'finished', outcome: 'ok' }),
    ],
    orchestrator: server({ state: 'idle' }),
  });
  expect(attentionOf(quiet, now)).toEqual([]);
});

test.each<[string, Partial<AttentionFacts>, string, 'now' | 'soon']>([
  [
    'an orchestrator that is away',
    { orchestrator: { name: 'o', state: 'not_connected', servers: [] } },
    'No orchestrator',
    'now',
  ],
  ['a server that was ejected', { orchestrator: server({ state: 'ejected' }) }, 'not started again', 'now'],
  [
    'the last line of a server that failed',
    {
      orchestrator: server({
        state: 'backing_off',
        last_error: 'it exited',
        stderr_tail: 'cannot open /x\n',
      }),
    },
    'Last error: it exited; its last words: cannot open /x',
    'now',
  ],
  [
    'tokens whose role was removed',
    { stranded: ['role x is not in a.yaml'] },
    'Role x is not in a.yaml.',
    'soon',
  ],
  [
    'a turn that does not end',
    {
      agents: [
        agent({
          turns: [{ id: 't1', from: 'walt', kind: 'task', since: now - 31 * minute }],
          oldest_at: now,
        }),
      ],
    },
    'A turn works on the task of walt and has not ended; 2 messages unread.',
    'now',
  ],
  [
    'calls that were refused for a budget',
    { calls: [call({ state: 'finished', outcome: 'quota_exceeded', finished_at: now - 1 })] },
    'used up its budget or its room: 1 call refused.',
    'soon',
  ],
  ['an open circuit', { orchestrator: server({ circuit: 'open' }) }, 'gets no calls', 'now'],
  ['a server that needs a sign-in', { orchestrator: server({ state: 'needs_auth' }) }, 'sign in', 'now'],
  [
    'a tool that changed',
    { orchestrator: server({ tool_problems: [{ tool: 'write', message: 'its definition changed' }] }) },
    'write: its definition changed',
    'soon',
  ],
  ['a full store', { broker: { ...facts().broker, used_bytes: 95 } }, '95 % full', 'now'],
  ['a full disk', { broker: { ...facts().broker, free_bytes: 1 } }, 'disk', 'now'],
  ['an agent without tools', { agents: [agent({ state: 'tools_lost' })] }, 'lost its tools', 'now'],
  [
    'old mail of a connected agent',
    { agents: [agent({ oldest_at: now - 11 * minute })] },
    '2 messages unread',
    'now',
  ],
  [
    'old mail of an agent that is away',
    { agents: [agent({ state: 'offline', oldest_at: now - 11 * minute })] },
    'not connected',
    'soon',
  ],
  [
    'new mail of a person',
    { agents: [agent({ roles: ['operator'], oldest_at: now })] },
    '2 messages for a person',
    'now',
  ],
  ['a call that runs for long', { calls: [call({})] }, 'has no result', 'now'],
  [
    'a call that may have run',
    { calls: [call({ state: 'finished', outcome: 'outcome_unknown', finished_at: now - 1 })] },
    'may have run',
    'now',
  ],
  [
    'a webhook that refused',
    { hooks: [{ name: 'ci', last_refusal: { at: now - 1, reason: 'no' } } as never] },
    'refused: no',
    'soon',
  ],
])('%s needs a person.', (_, change, text, level) => {
  expect(attentionOf(facts(change), now)).toMatchObject([{ level, what: expect.stringContaining(text) }]);
});

test('Dead letters are one item for each inbox and reason, with an action that retries just these.', () => {
  const letter = (seq: number, reason: string) =>
    ({ seq, inbox: 'walt', reason, dead_at: now - seq }) as never;
  const messages = [letter(1, 'locked'), letter(2, 'locked'), letter(3, '<b>')];
  const items = attentionOf(facts({ deadLetters: { messages, more: false } }), now);
  expect(items.map(({ what, action }) => [what, action?.params])).toEqual([
    ['1 message given up: <b>', { seqs: [3] }],
    ['2 messages given up: locked', { seqs: [1, 2] }],
  ]);
  const many = facts({
    deadLetters: { messages, more: true },
    broker: { ...facts().broker, dead_letters: 900 },
  });
  expect(attentionOf(many, now)).toMatchObject([{ what: expect.stringContaining('900 messages') }]);
});

test('A token near its end is told, and one that nobody renews by hand is not.', () => {
  const token = {
    id: 't',
    agent: 'rosa',
    role: 'worker',
    permissions: [],
    created_at: 0,
    expires_at: now + minute,
  };
  expect(attentionOf(facts({ tokens: [token as never] }), now)).toMatchObject([
    { who: 'rosa', level: 'soon' },
  ]);
  const child = { ...token, parent_id: 'p' };
  for (const renewed of [child, { ...child, role: 'operator', sign_in: true }])
    expect(attentionOf(facts({ tokens: [renewed as never] }), now)).toEqual([]);
  const decides = { ...child, approves: ['builder'] };
  expect(attentionOf(facts({ tokens: [decides as never] }), now)).toHaveLength(1);
});

test('What does not work stands before what can wait, and in each the oldest first.', () => {
  const all = facts({
    agents: [
      agent({ agent: 'b', oldest_at: now - 12 * minute }),
      agent({ agent: 'a', oldest_at: now - 20 * minute }),
    ],
    deadLetters: { messages: [{ seq: 1, inbox: 'z', reason: 'x', dead_at: 1 } as never], more: false },
  });
  expect(attentionOf(all, now).map(({ who }) => who)).toEqual(['a', 'b', 'z']);
});

function approval(id: string, deadline: number): Approval {
  return {
    ...{ id, state: 'pending', request_id: 'r', agent: 'rosa', role: 'worker', tool: 'mcp_a__b' },
    ...{ arguments_hash: '', definition_hash: '', rule: 'ask[0]', created_at: now, deadline_at: deadline },
  };
}

test('Calls that wait for a decision stand before everything else, the next deadline first, and a flood of them is cut.', () => {
  const broken = { orchestrator: server({ state: 'ejected' }) };
  const approvals = [approval('late', now + 9), approval('soon', now + 1)];
  const items = attentionOf(facts({ ...broken, approvals }), now);
  expect(items.map(({ id }) => id)).toEqual(['approval soon', 'approval late', 'server files']);
  expect(items[0]).toMatchObject({ level: 'now', link: '/approvals?id=soon', approval: { id: 'soon' } });
  const many = Array.from({ length: 30 }, (_, index) => approval(String(index), now + index));
  const cut = attentionOf(facts({ approvals: many }), now);
  expect(cut).toHaveLength(26);
  expect(cut.at(-1)).toMatchObject({ what: '5 other calls wait for a decision.', link: '/approvals' });
});

test('Each question to an operator is an item that can be answered, a flood of them is cut, and other mail is apart.', () => {
  const from = (agent: string) => ({ agent });
  const mail = [
    {
      seq: 1,
      id: 'a1',
      kind: 'ask',
      from: from('rosa'),
      created_at: now - 5,
      remaining_ms: 9,
      thread: 'plan',
    },
    { seq: 2, id: 'n1', kind: 'note', from: from('walt'), created_at: now - 1 },
  ];
  const task = { seq: 3, id: 't1', kind: 'task', from: from('rosa'), created_at: now - 9 };
  const operator = (name: string, unread: number) =>
    agent({ agent: name, roles: ['operator'], mail: { unread, held: 0 }, oldest_at: now - 7 });
  const people = [
    { agent: 'operator.alice', mail },
    { agent: 'operator', mail: [task] },
  ];
  const agents = [operator('operator.alice', 2), operator('operator', 1)];
  const items = attentionOf(facts({ agents, people }), now);
  expect(items.map(({ who, what }) => `${who} ${what.split(';')[0]}`)).toEqual([
    'rosa gives operator a task, and waits for its result.',
    'operator.alice 1 message for a person',
    'rosa asks you something, and waits.',
  ]);
  expect(items[0]).toMatchObject({ question: { inbox: 'operator', seq: 3, isOwn: false } });
  expect(items[2]).toMatchObject({
    ...{ level: 'now', since: now - 5, link: '/conversations?thread=plan' },
    question: { inbox: 'operator.alice', seq: 1, isOwn: true, until: now + 9 },
  });
  const flood = Array.from({ length: 30 }, (_, n) => ({ ...mail[0]!, seq: n + 1, created_at: n }));
  const cut = attentionOf(facts({ people: [{ agent: 'operator', mail: flood }] }), now);
  expect(cut).toHaveLength(26);
  expect(cut.find(({ who }) => who === 'questions')).toMatchObject({
    what: expect.stringContaining('5 other questions wait'),
  });
});

test('A hold is told until it is released, with a question; one on everything, or a damaged one, is urgent.', () => {
  const hold: Hold = {
    ...{ id: 'h1', on: 'agent', name: 'rosa', reason: 'it deletes files', by: 'operator.bob' },
    ...{ token_id: 't', created_at: now - minute },
  };
  const all: Hold = { id: 'h2', on: 'all', reason: 'incident', by: 'operator', token_id: 't', created_at: 1 };
  const items = attentionOf(facts({ holds: [hold, all, { ...all, id: 'h3', damaged: true }] }), now);
  expect(items.map(({ id, level }) => [id, level])).toEqual([
    ['hold h3', 'now'],
    ['hold h2', 'now'],
    ['hold h1', 'soon'],
  ]);
  expect(items[2]).toMatchObject({
    what: 'This agent is held by operator.bob: it deletes files',
    since: now - minute,
    action: {
      command: 'holds/release',
      params: { ids: ['h1'] },
      question: expect.stringContaining('Release'),
    },
  });
});

test('What a pinned server has changed is shown with its diff; only what is shown whole is accepted here.', () => {
  const definition = (name: string, state: 'changed' | 'new') => ({
    ...{ server: 'files', kind: 'tool' as const, name, state },
    differences: [{ path: 'description', what: 'the description', before: 'Reads.', after: 'Sends.' }],
  });
  const withheld = (
    count: number,
    seen?: string,
    state: 'changed' | 'new' = 'changed',
  ): DefinitionsReply => ({
    definitions: Array.from({ length: count }, (_, i) => definition(`t${i}`, state)),
    servers: [
      { server: 'files', pinned: 4, withheld: count, ...(seen !== undefined && { seen }) },
      { server: 'docs', pinned: 1, withheld: 0 },
    ],
  });
  const itemOf = (reply: DefinitionsReply) => attentionOf(facts({ withheld: reply }), now);
  expect(itemOf(withheld(1, 'h1'))).toMatchObject([
    {
      ...{ who: 'files', level: 'now', definitions: [{ name: 't0' }] },
      action: { command: 'definitions/accept', params: { server: 'files', seen: 'h1' } },
    },
  ]);
  expect(itemOf(withheld(2, 'h2', 'new'))).toMatchObject([{ level: 'soon', action: {} }]);
  for (const large of [withheld(2), withheld(21, 'h3')]) {
    const [item] = itemOf(large);
    expect(item).not.toHaveProperty('action');
    expect(item!.what).toContain('signalbox servers diff files');
    expect(item!.definitions!.length).toBeLessThanOrEqual(20);
  }
  const problem = { tool: 't0', message: 'withheld', withheld: true as const };
  const known = { orchestrator: server({ tool_problems: [problem] }), withheld: withheld(1, 'h') };
  expect(attentionOf(facts(known), now)).toHaveLength(1);
});

test('An agent whose program ended with a failure is named with the cause, and comes first if mail waits for it.', () => {
  const failed = { at: now - minute, reason: 'ended with exit code 3: cannot open database /x/y' };
  const [rosa, walt] = attentionOf(
    facts({
      agents: [
        agent({ agent: 'walt', state: 'failed', failed, mail: { unread: 0, held: 0 } }),
        agent({ state: 'failed', failed }),
      ],
    }),
    now,
  );
  const what = 'Its program ended with exit code 3: cannot open database /x/y.';
  expect(rosa).toMatchObject({
    who: 'rosa',
    level: 'now',
    what: `${what} 2 messages unread.`,
    since: failed.at,
  });
  expect(walt).toMatchObject({ who: 'walt', level: 'soon', what });
});
