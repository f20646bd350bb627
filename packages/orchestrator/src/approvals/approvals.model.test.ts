import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServedRequest } from '@signalbox/client';
import { approvalsReplySchema, type FoundState, type Sender } from '@signalbox/protocol';
import { noFault } from '@signalbox/serving';
import { openSqliteJournal, type SqliteJournalOptions } from '@signalbox/store/journal';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { answerApprovals } from '../operator/approval-operations.ts';
import { Approvals, type ApprovalsDeps } from './approvals.ts';
import type { AskedCall, Decision } from './waiting-requests.ts';

const deadlineMs = 1_000_000;

/** An event, perhaps about one of two calls. `race`: two decide at once. */
type Op = CallOp | { op: 'wait' | 'crash' | 'change' };
interface CallOp {
  op: 'ask' | 'approve' | 'deny' | 'race' | 'cancel';
  call: 0 | 1;
}

const call = fc.constantFrom(0 as const, 1 as const);
const ops: fc.Arbitrary<Op[]> = fc.array(
  fc.oneof(
    fc.record({ op: fc.constantFrom('ask' as const, 'approve' as const), call }),
    fc.record({ op: fc.constantFrom('deny' as const, 'race' as const, 'cancel' as const), call }),
    fc.record({ op: fc.constantFrom('wait' as const, 'crash' as const, 'change' as const) }),
  ),
  { maxLength: 14 },
);

/** Approvals on a real journal, with a clock and definitions that the test controls. */
class Stack implements AsyncDisposable {
  now = 1_000;
  definition = 'd1';
  /** The broker's answer about every request. */
  requestState: FoundState = 'open';
  readonly #directory: string;
  #journal: Awaited<ReturnType<typeof openSqliteJournal>>;
  approvals!: Approvals;
  #ids = 0;
  #cancels = new Map<number, AbortController>();

  private constructor(directory: string, journal: Awaited<ReturnType<typeof openSqliteJournal>>) {
    this.#directory = directory;
    this.#journal = journal;
  }

  static async start(options: Partial<SqliteJournalOptions> = {}): Promise<Stack> {
    const directory = await mkdtemp(join(tmpdir(), 'approvals-'));
    const journal = await openSqliteJournal({ file: join(directory, 'journal.db'), ...options });
    const stack = new Stack(directory, journal);
    stack.approvals = await stack.#open();
    return stack;
  }

  #open(settings: Partial<ApprovalsDeps> = {}): Promise<Approvals> {
    return Approvals.open({
      store: this.#journal.approvals,
      client: { find: async (requests) => requests.map(() => this.requestState) },
      policy: () => ({ roles: {}, deadlineMs, notify: [] }),
      definitionHash: () => this.definition,
      replyOf: async () => undefined,
      notify: () => {},
      audit: { record: () => {} },
      minterOf: async () => undefined,
      mayDecide: async (deciders) => deciders.map(() => true),
      newId: () => `id${this.#ids++}`,
      hidingRules: () => ({ secrets: [], key: 'k' }),
      now: () => this.now,
      monotonic: () => this.now,
      fault: noFault,
      log: () => {},
      ...settings,
    });
  }

  async crash(settings: Partial<ApprovalsDeps> = {}): Promise<void> {
    this.approvals.close();
    await this.#journal[Symbol.asyncDispose]();
    this.#journal = await openSqliteJournal({ file: join(this.#directory, 'journal.db') });
    this.approvals = await this.#open(settings);
    this.#cancels = new Map();
  }

  ask(n: number, agent = 'rosa'): Promise<Decision> {
    const cancel = new AbortController();
    this.#cancels.set(n, cancel);
    const request = {
      signal: cancel.signal,
      progress: () => {},
      remainingMs: () => undefined,
    } as unknown as ServedRequest;
    const bound = { agent, requestId: `r${n}`, role: 'worker', tool: 't', definitionHash: this.definition };
    const asked: AskedCall = {
      request,
      bound: { ...bound, argumentsHash: `a${n}` },
      shown: { hash: `a${n}`, text: '{}', hidden: 0 },
      rule: 'roles.worker.ask[0]',
      server: undefined,
      idempotencyKey: undefined,
      joins: true,
      mayStand: true,
      isKept: () => false,
      onWait: () => {},
    };
    return this.approvals.ask(asked);
  }

  /** Proposes call 0, and continues with other approvals on the same journal, which have not heard of it. */
  async moveToOther(): Promise<void> {
    const other = await this.#open();
    void this.ask(0);
    await expect.poll(() => this.stateOf(0)).toBe('pending');
    this.approvals.close();
    this.approvals = other;
  }

  cancel(n: number): void {
    this.#cancels.get(n)?.abort();
  }

  async stateOf(n: number): Promise<string | undefined> {
    const record = await this.approvals.of({ agent: 'rosa', requestId: `r${n}` });
    return record && (record.end?.state ?? 'pending');
  }

  async idOf(n: number): Promise<string | undefined> {
    return (await this.approvals.of({ agent: 'rosa', requestId: `r${n}` }))?.id;
  }

  async leftAt(n: number): Promise<number | undefined> {
    return this.approvals.callerLeft((await this.idOf(n)) ?? '').leftAt;
  }

  list(before: number | undefined, limit: number) {
    return this.#journal.approvals.list({ before, limit });
  }

  /** Writes approvals that were decided long ago. */
  async fill(count: number): Promise<void> {
    const by = { tokenId: 't1', agent: 'operator' };
    const bound = { agent: 'walt', role: 'worker', tool: 't', definitionHash: 'd1', argumentsHash: 'a' };
    const times = { createdAt: 1, deadlineAt: 2, arguments: '{}', hidden: 0, rule: 'roles.worker.ask[0]' };
    const written = Array.from({ length: count }, (_, n) =>
      this.#journal.approvals.propose(
        { ...bound, ...times, id: `old${n}`, requestId: `o${n}` },
        { state: n % 2 === 0 ? 'approved' : 'denied', endedAt: 2, by },
      ),
    );
    await Promise.all(written);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.approvals.close();
    await this.#journal[Symbol.asyncDispose]();
    await rm(this.#directory, { recursive: true });
  }
}

/** The contract: an approval ends once, by the first event that ends it, and keeps its end over crashes. */
interface ModelCall {
  state: string;
  deadlineAt: number;
  definition: string;
  /** True if its request is at this process. */
  isHere: boolean;
}

test('in any order of events, an approval ends once, by the first event that ends it, and keeps its end over crashes', async () => {
  await fc.assert(
    fc.asyncProperty(ops, async (sequence) => {
      await using stack = await Stack.start();
      const model = new Map<number, ModelCall>();
      for (const step of sequence) {
        await run(stack, model, step);
        for (const [n, { state }] of model)
          expect(await stack.stateOf(n), JSON.stringify(sequence)).toBe(state);
      }
    }),
    {
      numRuns: 15,
      examples: [
        [
          [
            { op: 'ask', call: 0 },
            { op: 'race', call: 0 },
          ],
        ],
      ],
    },
  );
});

async function run(stack: Stack, model: Map<number, ModelCall>, step: Op): Promise<void> {
  if ('call' in step) await runOnCall(stack, model, step);
  else if (step.op === 'wait') stack.now += deadlineMs;
  else if (step.op === 'change') stack.definition = `${stack.definition}+`;
  else await crash(stack, model);
}

async function crash(stack: Stack, model: Map<number, ModelCall>): Promise<void> {
  await stack.crash();
  for (const [n, known] of model) {
    known.isHere = false;
    if (known.state !== 'pending' || stack.now < known.deadlineAt) continue;
    await expect.poll(() => stack.stateOf(n), { interval: 1 }).toBe('expired');
    known.state = 'expired';
  }
}

async function runOnCall(
  stack: Stack,
  model: Map<number, ModelCall>,
  { op, call: n }: CallOp,
): Promise<void> {
  const known = model.get(n);
  const isChanged = known !== undefined && known.definition !== stack.definition;
  if (op === 'ask') return await ask(stack, model, n, isChanged);
  if (op === 'cancel') {
    stack.cancel(n);
    if (!known?.isHere || known.state !== 'pending') return;
    // People can still decide on it.
    await expect.poll(() => stack.leftAt(n), { interval: 1 }).toBe(stack.now);
    known.isHere = false;
    return;
  }
  const kinds = op === 'race' ? (['approve', 'deny'] as const) : ([op] as const);
  const id = (await stack.idOf(n)) ?? 'none';
  const by = { tokenId: 't', agent: 'operator' };
  const replies = await Promise.all(
    kinds.map((kind) => stack.approvals.decide(id, { kind, by, reason: 'so' })),
  );
  const isOpen = known?.state === 'pending';
  const isLate = known !== undefined && stack.now >= known.deadlineAt;
  const done = replies.map((reply) => reply?.isDone ?? false);
  expect(done).toEqual(kinds.map((_, at) => at === 0 && isOpen && !isLate && !isChanged));
  if (!isOpen) return;
  const decided = kinds[0] === 'approve' ? 'approved' : 'denied';
  known.state = isChanged ? 'superseded' : isLate ? 'expired' : decided;
}

async function ask(
  stack: Stack,
  model: Map<number, ModelCall>,
  n: number,
  isChanged: boolean,
): Promise<void> {
  const known = model.get(n);
  // A request that waits here is not handed to this process again.
  if (known?.isHere && known.state === 'pending') return;
  const decided = stack.ask(n);
  if (known && (known.state !== 'pending' || isChanged)) {
    // An approved call may start, unless it differs from the approved one by now.
    const mayStart = known.state === 'approved' && !isChanged;
    expect((await decided).status).toBe(mayStart ? 'approved' : 'refused');
    if (known.state === 'pending') known.state = 'superseded';
    return;
  }
  await expect.poll(() => stack.stateOf(n), { interval: 1 }).toBe('pending');
  const { definition } = stack;
  if (known) known.isHere = true;
  else model.set(n, { state: 'pending', deadlineAt: stack.now + deadlineMs, definition, isHere: true });
}

test('of 513 calls that would wait the last is refused, and 16 of one agent may wait', async () => {
  await using stack = await Stack.start();
  const waiting: Promise<Decision>[] = [];
  for (let n = 0; n < 512; n++) waiting.push(stack.ask(n, `agent-${n % 32}`));
  await expect.poll(() => stack.approvals.pending().length).toBe(512);
  expect(await stack.ask(512, 'agent-40')).toMatchObject({
    status: 'refused',
    error: { code: 'quota_exceeded', message: expect.stringContaining('512 calls of all agents') },
  });
  expect(await stack.ask(513, 'agent-3')).toMatchObject({
    error: { code: 'quota_exceeded', message: expect.stringContaining("16 calls of 'agent-3'") },
  });
  // They still wait after a crash, and count.
  await stack.crash();
  expect(stack.approvals.pending()).toHaveLength(512);
  expect(await stack.ask(514, 'agent-40')).toMatchObject({ error: { code: 'quota_exceeded' } });
  const [some] = stack.approvals.pending();
  await stack.approvals.decide(some!.id, { kind: 'deny', by: { tokenId: 't', agent: 'operator' } });
  waiting.push(stack.ask(515, 'agent-40'));
  await expect.poll(() => stack.approvals.pending().length).toBe(512);
});

test('10,000 approvals that were decided are listed in pages, newest first, each once, and to an approver those of its roles', async () => {
  await using stack = await Stack.start();
  await stack.fill(10_000);
  const all = Array.from({ length: 10_000 }, (_, n) => `old${9_999 - n}`);
  expect(await listedTo(stack, { agent: 'operator', address: 'operator', role: 'operator' })).toEqual(all);
  const approver = { agent: 'lead', address: 'lead', role: 'lead' };
  expect(await listedTo(stack, { ...approver, token: { id: 't', approves: ['work*'] } })).toEqual(all);
  expect(await listedTo(stack, { ...approver, token: { id: 't', approves: ['reader'] } })).toEqual([]);
});

/** Reads all pages that an asker is shown. */
async function listedTo({ approvals }: Stack, asker: Sender): Promise<string[]> {
  const deps = { approvals, newApprovalId: () => 'x', now: () => 0 };
  const seen: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const reply = await answerApprovals(deps, asker, { op: 'approvals', all: true, limit: 200, cursor });
    const page = approvalsReplySchema.parse('data' in reply ? reply.data : reply);
    seen.push(...page.approvals.map(({ id }) => id));
    cursor = page.cursor;
    if (cursor === undefined) return seen;
  }
}

test('a call that was cancelled while no orchestrator was there is found to have no caller', async () => {
  await using stack = await Stack.start();
  void stack.ask(0);
  await expect.poll(() => stack.stateOf(0)).toBe('pending');
  stack.requestState = 'settled';
  await stack.crash({ sweepEveryMs: 5 });
  await expect.poll(() => stack.leftAt(0)).toBe(stack.now);
  expect(await stack.stateOf(0)).toBe('pending');
});

test('of approvals that have ended the newest are kept, and one that waits stays', async () => {
  await using stack = await Stack.start({ limits: { approvals: 5 }, pruneEveryMs: 5 });
  void stack.ask(0);
  await expect.poll(() => stack.stateOf(0)).toBe('pending');
  await stack.fill(20);
  const kept = ['old19', 'old18', 'old17', 'old16', 'old15', await stack.idOf(0)];
  const listed = async () => (await stack.list(undefined, 100)).map(({ record }) => record.id);
  await expect.poll(listed).toEqual(kept);
});

test('a call that was proposed at another process, of which this one has not heard, waits here for its decision', async () => {
  await using stack = await Stack.start();
  await stack.moveToOther();
  const decision = stack.ask(0);
  const waits = expect.poll(() => stack.approvals.pending().length).toBe(1);
  expect(await Promise.race([decision, waits.then(() => 'waits')])).toBe('waits');
  const by = { tokenId: 't1', agent: 'operator' };
  await stack.approvals.decide((await stack.idOf(0))!, { kind: 'deny', by });
  expect(await decision).toMatchObject({ status: 'refused', error: { code: 'approval_denied' } });
});
