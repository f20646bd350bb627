import { expect, test } from 'vitest';
import { BudgetLedger } from './budget-ledger.ts';
import { type CallBudgets, checkBudgets } from './call-budgets.ts';

/** Opens a ledger with its clock. `call` returns `undefined` for a call that was let through. */
function open(budgets: CallBudgets) {
  const clock = { now: 0 };
  const ledger = new BudgetLedger(budgets, () => clock.now);
  const call = (agent: string, role = 'worker', request?: string) =>
    ledger.take({ agent, role, request }).refusal;
  return { clock, ledger, call };
}

const perMinute = (calls: number) => ({ calls, windowMs: 60_000 });

test('a worker may call as often as its budget says in any minute, and is told when it may again', () => {
  const { clock, call } = open({ perWorker: perMinute(2) });
  expect(call('rosa')).toBeUndefined();
  clock.now = 20_000;
  expect(call('rosa')).toBeUndefined();
  clock.now = 50_500;
  expect(call('rosa')).toEqual({
    code: 'quota_exceeded',
    message: "'rosa' has used up the budget of 2 calls in 60 s",
    category: 'transient',
    retryable: true,
    may_have_run: false,
    retry_after_seconds: 10,
    hint: 'This call did not run. Make fewer calls.',
  });
  expect(call('walt')).toBeUndefined();
  clock.now = 60_000;
  expect(call('rosa')).toBeUndefined();
  expect(call('rosa')).toMatchObject({ retry_after_seconds: 20 });
});

test("a role's own budget replaces the one of every worker", () => {
  const { call } = open({ perWorker: perMinute(1), roles: { builder: perMinute(2) } });
  expect([call('bob', 'builder'), call('bob', 'builder')]).toEqual([undefined, undefined]);
  expect(call('bob', 'builder')?.message).toContain('2 calls in 60 s');
  expect(call('ben', 'builder')).toBeUndefined();
  expect(call('rosa')).toBeUndefined();
  expect(call('rosa')?.message).toContain('1 call in 60 s');
});

test('a budget that a role shares holds for all its workers together, besides their own', () => {
  const { clock, call } = open({
    perWorker: perMinute(2),
    perRole: { builder: { calls: 3, windowMs: 10_000 } },
  });
  expect(['bob', 'bob', 'ben'].map((agent) => call(agent, 'builder'))).toEqual(Array(3).fill(undefined));
  expect(call('ben', 'builder')).toMatchObject({
    message: "the workers of role 'builder' have together used up the budget of 3 calls in 10 s",
    retry_after_seconds: 10,
  });
  // The shared budget refused it, so it is not counted in ben's own: he has one call left when the shared one is free.
  clock.now = 10_000;
  expect(call('bob', 'builder')?.message).toContain("'bob' has used up");
  expect(call('ben', 'builder')).toBeUndefined();
  expect(call('ben', 'builder')?.message).toContain("'ben' has used up");
});

test('what is used and left of each budget is listed, the least left first; what is too old does not count', () => {
  const { clock, ledger, call } = open({
    perWorker: perMinute(4),
    roles: { builder: perMinute(2) },
    perRole: { builder: { calls: 10, windowMs: 30_000 } },
  });
  for (const [agent, role] of [['rosa'], ['bob', 'builder'], ['bob', 'builder']] as const) call(agent, role);
  const shared = { role: 'builder', used: 2, calls: 10, window_ms: 30_000, wait_ms: 0 };
  const rosa = { agent: 'rosa', role: 'worker', used: 1, calls: 4, window_ms: 60_000, wait_ms: 0 };
  const bob = { agent: 'bob', role: 'builder', used: 2, calls: 2, window_ms: 60_000, wait_ms: 60_000 };
  expect(ledger.uses()).toEqual([bob, rosa, shared]);
  clock.now = 40_000;
  expect(ledger.uses()).toEqual([{ ...bob, wait_ms: 20_000 }, rosa]);
  ledger.setBudgets({});
  expect(ledger.uses()).toEqual([]);
});

test('a request that is delivered again counts once; one that was taken back, not at all', () => {
  const { ledger, call } = open({ perWorker: perMinute(2) });
  expect([call('rosa', 'worker', 'r1'), call('rosa', 'worker', 'r1')]).toEqual([undefined, undefined]);
  const second = ledger.take({ agent: 'rosa', role: 'worker', request: 'r2' });
  expect(call('rosa', 'worker', 'r3')).toBeDefined();
  second.takeBack?.();
  second.takeBack?.();
  expect(call('rosa', 'worker', 'r2')).toBeUndefined();
  expect(call('rosa', 'worker', 'r3')).toBeDefined();
});

test('calls of an earlier process count as long as if they had been counted here, in whatever order they are given', () => {
  const { clock, ledger, call } = open({
    perWorker: perMinute(3),
    perRole: { worker: { calls: 4, windowMs: 10_000 } },
  });
  expect(ledger.longestMs).toBe(60_000);
  const rosa = { agent: 'rosa', role: 'worker', calls: 1 };
  ledger.countEarlier([
    { ...rosa, agoMs: 5000 },
    { ...rosa, agoMs: 50_000 },
    { ...rosa, agoMs: 61_000 },
    { ...rosa, agent: 'walt', calls: 2, agoMs: -5 },
  ]);
  expect(ledger.uses()).toMatchObject([
    { role: 'worker', used: 3, calls: 4 },
    { agent: 'rosa', used: 2 },
    { agent: 'walt', used: 2 },
  ]);
  expect(call('rosa')).toBeUndefined();
  expect(call('rosa')).toMatchObject({ retry_after_seconds: 10 });
  clock.now = 10_000;
  expect(call('rosa')).toBeUndefined();
  expect(call('rosa')).toMatchObject({ retry_after_seconds: 45 });
});

test('calls of an earlier process count for the first call of this one', () => {
  const { ledger, call } = open({ perWorker: perMinute(1) });
  ledger.countEarlier([{ agent: 'rosa', role: 'worker', agoMs: 5000, calls: 1 }]);
  expect(call('rosa')).toMatchObject({ retry_after_seconds: 55 });
});

test('roles named like things of the language have no budget unless they are given one', () => {
  const { call } = open({ roles: { builder: perMinute(1) }, perRole: {} });
  for (const role of ['constructor', '__proto__', 'toString']) {
    expect([call('x', role), call('x', role)]).toEqual([undefined, undefined]);
  }
});

test('a new budget counts what was called before it', () => {
  const { ledger, call } = open({ perWorker: perMinute(3) });
  expect([call('rosa'), call('rosa')]).toEqual([undefined, undefined]);
  ledger.setBudgets({ perWorker: perMinute(2) });
  expect(call('rosa')).toMatchObject({ retry_after_seconds: 60 });
  ledger.setBudgets({});
  expect(call('rosa')).toBeUndefined();
});

test('never more calls than the budget pass in any window, and its memory does not grow with them', () => {
  const { clock, ledger, call } = open({ perWorker: { calls: 500, windowMs: 1000 } });
  const passed: number[] = [];
  for (; clock.now < 5000; clock.now += 0.5) {
    if (call('rosa') === undefined) passed.push(clock.now);
  }
  for (const [n, at] of passed.entries()) {
    const next = passed[n + 500];
    if (next !== undefined) expect(next - at).toBeGreaterThanOrEqual(1000);
  }
  // Places become free up to a 64th late.
  expect(passed.length).toBeGreaterThan(5 * 500 * 0.95);
  expect(ledger.size).toBe(1);
});

test('workers whose calls are too old to matter are forgotten', () => {
  const { clock, ledger, call } = open({ perWorker: perMinute(5), perRole: { worker: perMinute(99_999) } });
  for (let n = 0; n < 1000; n++) call(`w${n}`);
  expect(ledger.size).toBe(1001);
  clock.now = 60_000;
  call('late');
  expect(ledger.size).toBe(2);
});

test.each([
  [{ perWorker: { calls: 0, windowMs: 1 } }, 'budgets.perWorker.calls'],
  [{ roles: { builder: { calls: 1.5, windowMs: 1 } } }, 'budgets.roles.builder.calls'],
  [{ perRole: { builder: { calls: 1, windowMs: 0 } } }, 'budgets.perRole.builder.windowMs'],
  [{ perRole: { builder: { calls: 1, windowMs: Number.NaN } } }, 'budgets.perRole.builder.windowMs'],
])('the budgets %j are refused, naming the field', (budgets, field) => {
  expect(() => checkBudgets(budgets)).toThrow(
    expect.objectContaining({ code: 'bad_config', message: expect.stringContaining(field) }),
  );
});
