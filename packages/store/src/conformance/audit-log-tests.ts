import { describe, expect, it } from 'vitest';
import { AuditChainCheck } from '../audit-chain.ts';
import { type AuditEvent, type AuditKind, type AuditLog, auditKinds } from '../audit-log.ts';

/** An audit log over storage of its own, which disposing removes. */
export interface AuditLogUnderTest extends AsyncDisposable {
  readonly log: AuditLog;
  /** Closes the log and opens another one over the same storage. */
  reopen(): Promise<AuditLog>;
}

/** Opens an audit log with budgets that differ from those of `auditKinds`, and with a clock. */
export type OpenAuditLog = (options?: {
  maxBytes?: Partial<Record<AuditKind, number>>;
  now?: () => number;
}) => Promise<AuditLogUnderTest>;

const minute = 60_000;
const at = 1_800_000_000_000;
const kinds = Object.keys(auditKinds) as AuditKind[];

/** Makes a refusal as brokers record it. */
export function refusal(fields: Partial<AuditEvent> = {}): AuditEvent {
  return { kind: 'refusal', merged: true, at, code: 'forbidden', agent: 'ann', detail: '', ...fields };
}

/** Makes a change by an operator. */
export function change(fields: Partial<AuditEvent> = {}): AuditEvent {
  return { kind: 'change', at, code: 'token_issued', agent: 'operator.alice', detail: '', ...fields };
}

/** Returns the events of some kinds that were recorded since a time. */
export async function entriesOf(
  log: AuditLog,
  only: AuditKind[] = kinds,
  since = 0,
): Promise<Record<string, unknown>[]> {
  const rows = await log.read({ since, kinds: only, limit: 100_000 });
  return rows.map(({ entry }) => JSON.parse(entry));
}

/** Checks every chain as an operator does. */
export async function problemsOf(log: AuditLog): Promise<string[]> {
  const problems: string[] = [];
  for (const kind of kinds) {
    const check = new AuditChainCheck();
    for (let isLast = false; !isLast; ) {
      const { rows, chain } = await log.readChain(kind, check.after, 100);
      isLast = rows.length < 100;
      const problem = check.check(rows, chain, isLast);
      if (problem === undefined) continue;
      problems.push(problem);
      break;
    }
  }
  return problems;
}

/** Defines Vitest tests of the rules that every `AuditLog` must follow. Each test opens a log of its own. */
export function auditLogConformance(name: string, open: OpenAuditLog): void {
  describe(`${name} is an AuditLog:`, () => {
    it('counts the refusals of an agent under two roles apart, so that each row has the role and the rule of all that it counts', async () => {
      await using setup = await open();
      const { log } = setup;
      for (const role of ['reader', 'guest', 'reader', 'guest', 'guest'])
        log.record(
          refusal({ code: 'call_refused', name: 'mcp_a__b', role, facts: { rule: `roles.${role}` } }),
        );
      const counts = (await entriesOf(log)).map(({ role, rule, count = 1 }) => `${role} ${rule} ${count}`);
      expect(counts.toSorted()).toEqual([
        'guest roles.guest 1',
        'guest roles.guest 2',
        'reader roles.reader 1',
        'reader roles.reader 1',
      ]);
    });

    it('never merges changes, and counts refusals of one token, agent, code and name together', async () => {
      await using setup = await open();
      const { log } = setup;
      for (const name of ['a', 'b']) {
        log.record(refusal({ name, detail: 'first' }));
        log.record(refusal({ name, at: at + 1, detail: 'second' }));
        log.record(refusal({ name, at: at + 2, detail: 'third' }));
        log.record(change({ detail: 'the same' }));
      }
      expect(await entriesOf(log, ['change'])).toMatchObject([
        { detail: 'the same' },
        { detail: 'the same' },
      ]);
      expect(await entriesOf(log, ['refusal'])).toMatchObject([
        { name: 'a', detail: 'first' },
        { name: 'b', detail: 'first' },
        { name: 'a', count: 2, at: at + 2, first_at: at + 1, detail: 'third' },
        { name: 'b', count: 2, at: at + 2, first_at: at + 1, detail: 'third' },
      ]);
    });

    it('counts refusals with different outcomes, or of different reporters, apart: each row is true of all that it counts', async () => {
      await using setup = await open();
      const record = (outcome: string, by = 'one') =>
        setup.log.record(refusal({ name: 'a', facts: { reported_by: by, outcome } }));
      for (const outcome of ['invalid', 'invalid', 'over', 'over', 'over']) record(outcome);
      for (let n = 0; n < 2; n++) record('invalid', 'two');
      const counts = new Map<string, number>();
      for (const { outcome, reported_by: by, count = 1 } of await entriesOf(setup.log, ['refusal'])) {
        const key = `${by} ${outcome}`;
        counts.set(key, (counts.get(key) ?? 0) + Number(count));
      }
      expect(Object.fromEntries(counts)).toEqual({ 'one invalid': 2, 'one over': 3, 'two invalid': 2 });
    });

    it('counts on while other kinds are read: who reads calls again and again makes few rows of it', async () => {
      await using setup = await open();
      const { log } = setup;
      for (let n = 1; n <= 5; n++) {
        log.record(refusal({ kind: 'read', code: 'audit_read', detail: `page ${n}` }));
        await log.read({ since: 0, kinds: ['call'], limit: 10 });
        await log.readChain('change', 0, 10);
      }
      expect(await entriesOf(log, ['read'])).toMatchObject([
        { detail: 'page 1' },
        { count: 4, detail: 'page 5' },
      ]);
    });

    it('tells few names of one agent apart at a time, and counts the others together', async () => {
      await using setup = await open();
      for (let i = 0; i < 1000; i++) setup.log.record(refusal({ name: `tool-${i}` }));
      setup.log.record(refusal({ agent: 'bob', name: 'tool-1000' }));
      const rows = await entriesOf(setup.log);
      expect(rows.length).toBeLessThan(30);
      expect(rows.reduce((sum, { count = 1 }) => sum + Number(count), 0)).toBe(1001);
      expect(rows).toContainEqual(expect.objectContaining({ agent: 'ann', name: '(others)', count: 979 }));
      expect(rows).toContainEqual(expect.objectContaining({ agent: 'bob', name: 'tool-1000' }));
    });

    it('answers from a time on, page by page, in the order in which it recorded, even if a clock leaps', async () => {
      let now = at;
      await using setup = await open({ now: () => now });
      for (let i = 0; i < 10; i++) {
        setup.log.record(
          i % 2 === 0 ? change({ detail: String(i) }) : { ...change({ detail: String(i) }), kind: 'call' },
        );
        // A query writes the events that wait.
        await entriesOf(setup.log);
        now += minute;
      }
      const read = (since: number, limit: number, after = 0) =>
        setup.log.read({ since, kinds, limit, after });
      const details = async (rows: ReturnType<typeof read>) =>
        (await rows).map(({ entry }) => JSON.parse(entry).detail);
      expect(await details(read(at + 7 * minute, 10))).toEqual(['7', '8', '9']);
      expect(await details(read(at + 7 * minute + 1, 10))).toEqual(['8', '9']);
      expect(await details(read(at + 10 * minute, 10))).toEqual([]);
      const page = await read(0, 2);
      expect(page.map(({ entry }) => JSON.parse(entry).detail)).toEqual(['0', '1']);
      expect(await details(read(0, 2, page[1]!.number))).toEqual(['2', '3']);
      const back = (before: number, since = 0) => setup.log.read({ since, kinds, limit: 3, before });
      const newest = await back(Number.MAX_SAFE_INTEGER);
      expect(newest.map(({ entry }) => JSON.parse(entry).detail)).toEqual(['9', '8', '7']);
      expect(await details(back(newest.at(-1)!.number))).toEqual(['6', '5', '4']);
      expect(await details(back(newest.at(-1)!.number, at + 5 * minute))).toEqual(['6', '5']);
      now = at - 1000 * minute;
      setup.log.record(change({ detail: 'after a step back' }));
      expect(await details(read(at + 9 * minute, 10))).toEqual(['9', 'after a step back']);
      await setup.reopen();
      expect(await details(read(at + 9 * minute, 10))).toEqual(['9', 'after a step back']);
    });

    it('stays small in a flood of one kind, which pushes out no other; what is left is still a chain', async () => {
      const maxBytes = { refusal: 128 * 1024, change: 1024 };
      await using setup = await open({ maxBytes });
      const flood = 10_000;
      for (let i = 0; i < flood; i++) {
        if (i % 100 === 0) setup.log.record(change({ at: at + i, detail: String(i) }));
        setup.log.record(refusal({ at: at + i, agent: `agent-${i}`, detail: 'x'.repeat(100) }));
      }
      expect(await entriesOf(setup.log, ['change'])).toHaveLength(100);
      expect(setup.log.usedPart('change')).toBeGreaterThan(1);
      const left = await entriesOf(setup.log, ['refusal']);
      expect(left.at(-1)).toMatchObject({ agent: `agent-${flood - 1}` });
      expect(left.length).toBeGreaterThan(100);
      expect(left.length).toBeLessThan(600);
      await setup.reopen();
      setup.log.record(refusal({ agent: 'later' }));
      expect(await problemsOf(setup.log)).toEqual([]);
    });

    it('records a batch whole, and once however often it is reported', async () => {
      await using setup = await open();
      const calls = ['r1', 'r2'].map(
        (id): AuditEvent => ({ kind: 'call', at, code: 'call_ended', detail: '', facts: { request_id: id } }),
      );
      expect(await setup.log.recordBatch({ from: 'orchestrator', id: 'b1' }, calls)).toBe(true);
      expect(await setup.log.recordBatch({ from: 'orchestrator', id: 'b1' }, calls)).toBe(false);
      await setup.reopen();
      expect(await setup.log.recordBatch({ from: 'orchestrator', id: 'b1' }, calls)).toBe(false);
      expect(await setup.log.recordBatch({ from: 'other', id: 'b1' }, calls.slice(1))).toBe(true);
      expect((await entriesOf(setup.log)).map(({ request_id }) => request_id)).toEqual(['r1', 'r2', 'r2']);
    });
  });
}
