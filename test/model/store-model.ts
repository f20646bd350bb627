import { deepStrictEqual } from 'node:assert/strict';
import type { Appended, GivenCaps, InboxStore, NewMessage, Outcome, SenderCaps } from '@signalbox/store';
import { steadyTime } from '@signalbox/store';
import fc from 'fast-check';

/** `pick` and `settles` choose one of the sequence numbers given so far. */
export interface NewOp {
  inbox: 'a' | 'b';
  sender: 'x' | 'y';
  id: 'p' | 'q' | 'r';
  body: '"1"' | '"2"';
  ttlMs: number;
  settles?: number | undefined;
}

/** One step of a sequence: a commit, the passing of time, the end of what is past its time, or a restart. */
export type StoreOp =
  | {
      op: 'commit';
      messages: NewOp[];
      settle: { pick: number; outcome: Outcome; elsewhere: boolean }[];
      attempts: { pick: number; attempts: number }[];
    }
  | { op: 'advance'; ms: number }
  | { op: 'expire' }
  | { op: 'reopen' };

/** A store over files of its own, with a clock that only moves by hand. */
export interface ModelledStore extends AsyncDisposable {
  readonly store: InboxStore;
  reopen(): Promise<void>;
  now: number;
}

export const modelCaps = { inbox: { messages: 5 }, recipient: { messages: 7 } } satisfies GivenCaps;

const any = Number.POSITIVE_INFINITY;
const quota: SenderCaps = {
  sender: { messages: 6, bytes: any },
  senderToRecipient: { messages: 3, bytes: any },
};

const pick = fc.nat({ max: 40 });
const newOp: fc.Arbitrary<NewOp> = fc.record({
  inbox: fc.constantFrom('a', 'b'),
  sender: fc.constantFrom('x', 'y'),
  id: fc.constantFrom('p', 'q', 'r'),
  body: fc.constantFrom('"1"', '"2"'),
  ttlMs: fc.constantFrom(50, 1_000_000),
  settles: fc.option(pick, { nil: undefined, freq: 5 }),
});
const commitOp = fc.record({
  op: fc.constant('commit' as const),
  messages: fc.array(newOp, { maxLength: 3 }),
  settle: fc.array(
    fc.record({
      pick,
      outcome: fc.constantFrom<Outcome>('acked', 'expired', 'cancelled', 'dead'),
      elsewhere: fc.boolean(),
    }),
    { maxLength: 2 },
  ),
  attempts: fc.array(fc.record({ pick, attempts: fc.integer({ min: 1, max: 4 }) }), { maxLength: 1 }),
});
const advanceOp = fc.record({ op: fc.constant('advance' as const), ms: fc.constantFrom(10, 60, 700, 5000) });

export const storeOps: fc.Arbitrary<StoreOp[]> = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: commitOp },
    { weight: 2, arbitrary: advanceOp },
    { weight: 1, arbitrary: fc.constant<StoreOp>({ op: 'expire' }) },
    { weight: 1, arbitrary: fc.constant<StoreOp>({ op: 'reopen' }) },
  ),
  { maxLength: 25, size: 'max' },
);

interface Live {
  seq: number;
  inbox: string;
  sender: string;
  id: string;
  body: string;
  attempts: number;
  expiresAt: number;
}

const key = ({ inbox, sender, id }: Pick<Live, 'inbox' | 'sender' | 'id'>): string =>
  `${inbox} ${sender} ${id}`;

/** The state of a store's messages according to the contract. */
class StoreModel {
  readonly live = new Map<number, Live>();
  readonly dead = new Map<number, Live>();
  readonly settled = new Map<string, { at: number; outcome: Outcome }>();
  readonly given: { seq: number; inbox: string }[] = [];

  of(inbox: string): Live[] {
    return [...this.live.values()].filter((m) => m.inbox === inbox).sort((a, b) => a.seq - b.seq);
  }

  /** Every answer that the contract allows for a new message. */
  allowed(message: NewMessage, now: number, windowMs: number): Appended['result'][] {
    const before = this.settled.get(key(message));
    if (before && now - before.at < windowMs) return ['duplicate'];
    const forgotten: Appended['result'][] = before ? ['duplicate'] : [];
    const waiting = this.of(message.inbox);
    const same = waiting.find((m) => key(m) === key(message));
    if (same) return [same.body === message.body ? 'duplicate' : 'id_conflict'];
    const all = [...this.live.values(), ...this.dead.values()];
    const ofSender = (list: readonly Live[]) => list.filter((m) => m.sender === message.sender).length;
    const isOver =
      ofSender(all) >= quota.sender.messages ||
      ofSender(waiting) >= quota.senderToRecipient.messages ||
      all.filter((m) => m.inbox === message.inbox).length >= modelCaps.recipient.messages;
    if (isOver) return [...forgotten, 'quota_exceeded'];
    if (waiting.length >= modelCaps.inbox.messages) return [...forgotten, 'inbox_full'];
    return [...forgotten, 'stored'];
  }

  append(message: NewMessage, appended: Appended, now: number): void {
    if (appended.result === 'stored') {
      const { seq } = appended;
      const latest = Math.max(0, ...this.given.filter((g) => g.inbox === message.inbox).map((g) => g.seq));
      if (seq <= latest || this.given.some((g) => g.seq === seq)) throw new Error(`seq ${seq} comes again`);
      this.given.push({ seq, inbox: message.inbox });
      this.settled.delete(key(message));
      const { inbox, sender, id, body = '', expiresAt } = message;
      this.live.set(seq, { seq, inbox, sender, id, body, attempts: 0, expiresAt });
    }
    const kept = ['stored', 'duplicate', 'id_conflict'].includes(appended.result);
    if (kept && message.settles) this.settle(message.settles, 'acked', now);
  }

  settle({ inbox, seq }: { inbox: string; seq: number }, outcome: Outcome, now: number): void {
    const message = this.live.get(seq);
    if (message?.inbox !== inbox) return;
    this.live.delete(seq);
    if (outcome === 'dead') this.dead.set(seq, message);
    this.settled.set(key(message), { at: now, outcome });
  }
}

function otherInbox(inbox: string): string {
  return inbox === 'a' ? 'b' : 'a';
}

/** Runs a sequence against a store and the model side by side; rejects where they differ. */
export async function runStoreOps(setup: ModelledStore, ops: readonly StoreOp[]): Promise<void> {
  const model = new StoreModel();
  for (const op of ops) {
    if (op.op === 'advance') setup.now += op.ms;
    else if (op.op === 'reopen') await setup.reopen();
    else if (op.op === 'expire') await expire(setup, model);
    else await commit(setup, model, op);
    await compare(setup, model);
  }
}

async function commit(
  setup: ModelledStore,
  model: StoreModel,
  op: Extract<StoreOp, { op: 'commit' }>,
): Promise<void> {
  const { store, now } = setup;
  const chosen = (at: number): { seq: number; inbox: string } | undefined =>
    model.given[at % Math.max(model.given.length, 1)];
  const messages = op.messages.map(({ ttlMs, settles, ...rest }): NewMessage => {
    const settled = settles === undefined ? undefined : chosen(settles);
    return {
      ...rest,
      senderAddress: rest.sender,
      senderRole: 'worker',
      kind: 'ask',
      quota,
      createdAt: now,
      expiresAt: now + ttlMs,
      ...(settled && { settles: settled }),
    };
  });
  const settlements = op.settle.flatMap(({ pick, outcome, elsewhere }) => {
    const target = chosen(pick);
    if (!target) return [];
    return [
      { seq: target.seq, inbox: elsewhere ? otherInbox(target.inbox) : target.inbox, outcome, reason: 'why' },
    ];
  });
  const attempts = op.attempts.flatMap(({ pick, attempts }) => {
    const target = chosen(pick);
    return target ? [{ ...target, attempts }] : [];
  });
  const results = await store.commit({ messages, settlements, attempts });
  deepStrictEqual(results.length, messages.length);
  results.forEach((result, i) => {
    const allowed = model.allowed(messages[i]!, now, store.dedupeWindowMs);
    if (!allowed.includes(result.result)) {
      throw new Error(`${key(messages[i]!)} was ${result.result}; allowed: ${allowed.join(', ')}`);
    }
    model.append(messages[i]!, result, now);
  });
  for (const { seq, attempts: count } of attempts) {
    const message = model.live.get(seq);
    if (message) message.attempts = count;
  }
  for (const settlement of settlements) model.settle(settlement, settlement.outcome, now);
}

/** Does what the broker does with the messages that a sweep finds. */
async function expire(setup: ModelledStore, model: StoreModel): Promise<void> {
  const { store, now } = setup;
  const found = new Map<number, string>();
  for (let step = 0; step < 3; step++) {
    for (const { seq, inbox } of await store.sweep(steadyTime(now))) found.set(seq, inbox);
  }
  const due = [...model.live.values()].filter((m) => m.expiresAt <= now).map((m) => m.seq);
  deepStrictEqual(
    [...found.keys()].sort((a, b) => a - b),
    due.sort((a, b) => a - b),
  );
  const settlements = [...found].map(([seq, inbox]) => ({ seq, inbox, outcome: 'expired' as const }));
  await store.commit({ messages: [], attempts: [], settlements });
  for (const settlement of settlements) model.settle(settlement, 'expired', now);
}

async function compare({ store, now }: ModelledStore, model: StoreModel): Promise<void> {
  for (const inbox of ['a', 'b']) {
    const expected = model.of(inbox);
    const read = await store.read(inbox, 0, 100, 1e9);
    deepStrictEqual(
      read.map(({ seq, inbox, sender, id, body, attempts, expiresAt }) => {
        return { seq, inbox, sender, id, body, attempts, expiresAt };
      }),
      expected,
    );
    deepStrictEqual(await store.stats(inbox), {
      pending: expected.length,
      bytes: expected.length * 3,
      headSeq: expected.at(-1)?.seq ?? 0,
    });
  }
  deepStrictEqual(
    await store.inboxes('', 10),
    ['a', 'b'].filter((inbox) => model.of(inbox).length > 0),
  );
  for (const [name, { at, outcome }] of model.settled) {
    if (now - at >= store.dedupeWindowMs) continue;
    const [inbox, sender, id] = name.split(' ') as [string, string, string];
    deepStrictEqual((await store.find(inbox, sender, id))?.outcome, outcome);
  }
}
