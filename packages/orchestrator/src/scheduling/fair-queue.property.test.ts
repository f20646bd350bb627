import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CallLimits, ServerLimits } from './call-limits.ts';
import { FairQueue, type QueuedCall } from './fair-queue.ts';

type Step =
  | { do: 'send'; worker: number; server: number; atOnce: boolean }
  | { do: 'finish' | 'remove'; which: number }
  | { do: 'limit'; servers: ServerLimits };

const small = (max: number) => fc.integer({ min: 1, max });
const servers = fc.dictionary(fc.constantFrom('s0', 's1', 's2'), small(4));
const limits = fc.record({
  global: small(6),
  perServer: small(4),
  perWorker: small(4),
  servers,
  waitingPerWorker: small(5),
  heldCalls: fc.constant(1000),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('send'),
      worker: fc.nat(3),
      server: fc.nat(2),
      atOnce: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('finish'), which: fc.nat(99) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove'), which: fc.nat(99) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('limit'), servers }) },
);

/** The rules in their plainest form: lists of running and waiting calls, and the time of each line's last turn. */
class Model {
  readonly running: QueuedCall[] = [];
  readonly waiting: QueuedCall[] = [];
  /** The time when the calls of a worker began to wait for a server, or when one of them was last served. */
  readonly turns = new Map<string, number>();
  #time = 0;
  limits: CallLimits;

  constructor(given: CallLimits) {
    this.limits = given;
  }

  line({ worker, server }: QueuedCall): QueuedCall[] {
    return this.waiting.filter((other) => other.worker === worker && other.server === server);
  }

  canStart({ worker, server }: QueuedCall): boolean {
    const { global, perServer, perWorker, servers = {} } = this.limits;
    return (
      this.running.length < global &&
      this.running.filter((other) => other.server === server).length < (servers[server] ?? perServer) &&
      this.running.filter((other) => other.worker === worker).length < perWorker
    );
  }

  add(call: QueuedCall): void {
    if (this.line(call).length === 0) this.turns.set(lineOf(call), this.#time++);
    this.waiting.push(call);
  }

  start(call: QueuedCall): void {
    expect(this.line(call)[0], 'oldest of its line').toBe(call);
    expect(this.canStart(call), 'within the limits').toBe(true);
    const mine = this.turns.get(lineOf(call))!;
    for (const other of this.waiting) {
      if (other.server !== call.server || !this.canStart(other)) continue;
      expect(
        this.turns.get(lineOf(other)),
        'nobody waited longer for a turn on this server',
      ).toBeGreaterThanOrEqual(mine);
    }
    this.waiting.splice(this.waiting.indexOf(call), 1);
    this.turns.set(lineOf(call), this.#time++);
    this.running.push(call);
  }
}

function lineOf({ worker, server }: QueuedCall): string {
  return `${worker} ${server}`;
}

test('limits hold, no slot stays free that a waiting call could use, and turns are kept', () => {
  fc.assert(
    fc.property(limits, fc.array(step, { maxLength: 120, size: 'max' }), (given, steps) => {
      const queue = new FairQueue<QueuedCall>(given);
      const model = new Model(given);
      for (const one of steps) {
        if (one.do === 'send') {
          const call = { worker: `w${one.worker}`, server: `s${one.server}` };
          const mine = model.waiting.filter(({ worker }) => worker === call.worker).length;
          const fits = model.canStart(call) || mine < given.waitingPerWorker;
          if (one.atOnce) expect(queue.startAtOnce(call)).toBe(model.canStart(call));
          else expect(queue.enqueue(call)).toBe(fits ? undefined : 'queue_full');
          const isStarted = one.atOnce && model.canStart(call);
          if (isStarted || (!one.atOnce && fits)) model.add(call);
          if (isStarted) model.start(call);
        } else if (one.do === 'finish') {
          const [call] = model.running.splice(one.which % Math.max(1, model.running.length), 1);
          if (call) queue.finished(call);
        } else if (one.do === 'limit') {
          queue.setServerLimits(one.servers);
          model.limits = { ...given, servers: one.servers };
        } else {
          const [call] = model.waiting.splice(one.which % Math.max(1, model.waiting.length), 1);
          if (call) expect(queue.remove(call)).toBe(true);
        }
        for (let next = queue.next(); next !== undefined; next = queue.next()) model.start(next);
        expect(model.waiting.filter((call) => model.canStart(call))).toEqual([]);
        expect([queue.running, queue.waiting]).toEqual([model.running.length, model.waiting.length]);
      }
      for (const call of queue.removeAll()) model.waiting.splice(model.waiting.indexOf(call), 1);
      expect(model.waiting).toEqual([]);
    }),
    { numRuns: 100 },
  );
});

test('as long as two workers both have calls waiting, neither is ever two starts ahead of the other', () => {
  const backlogs = fc.array(fc.record({ calls: fc.integer({ min: 1, max: 30 }), server: fc.nat(2) }), {
    minLength: 2,
    maxLength: 6,
  });
  fc.assert(
    fc.property(small(4), backlogs, (global, given) => {
      const plenty = 1_000_000;
      const queue = new FairQueue<QueuedCall>({
        global,
        perServer: plenty,
        perWorker: plenty,
        waitingPerWorker: plenty,
        heldCalls: plenty,
      });
      for (const [n, { calls, server }] of given.entries()) {
        for (let i = 0; i < calls; i++) queue.enqueue({ worker: `${n}`, server: `${server}` });
      }
      const starts = given.map(() => 0);
      for (let next = queue.next(); next !== undefined; next = queue.next()) {
        starts[Number(next.worker)]!++;
        const waiting = starts.filter((count, n) => count < given[n]!.calls);
        expect(Math.max(...waiting) - Math.min(...waiting)).toBeLessThanOrEqual(waiting.length > 0 ? 1 : 0);
        if (queue.running === global) queue.finished(next);
      }
      expect(starts).toEqual(given.map(({ calls }) => calls));
    }),
    { numRuns: 50 },
  );
});
