import { readCounter } from '@signalbox/testing';
import type { Death } from './agents.ts';
import { type Fleet, startFleet } from './fleet.ts';
import { Ledger } from './ledger.ts';
import { newId } from './new-id.ts';
import { judge, type Verdict } from './oracle.ts';
import type { RunPlan, Victim, WorkPlan } from './plan.ts';
import {
  askDeadlineMs,
  type CallEnd,
  type CallOrder,
  type FromWorker,
  sinkAgent,
} from './process-messages.ts';
import { readStoredMessages } from './sqlite/stored-messages.ts';
import type { StoredMessages } from './stored-messages.ts';

export interface CampaignOptions {
  plans: Iterable<RunPlan>;
  runs: number;
  /** The number of workers; 3 by default. */
  workers?: number;
  /** False: the orchestrator has no journal, which shows that the campaign can fail. */
  journal?: boolean;
  onRun?: (run: number) => void;
}

/**
 * One death that happened: of whom, at which point (`moment` for none), and how long until every worker had a result of
 * a call made after it; undefined if one had none within 15 s, or died too.
 */
export interface Kill {
  victim: Victim;
  point: string;
  recoveryMs?: number;
}

export interface CampaignReport {
  runs: number;
  kills: Kill[];
  /** The last words on standard error of each process that ended without being killed. */
  crashes: string[];
  verdict: Verdict;
}

const deadlineMs = 15_000;

/** Points that are passed only when the orchestrator subscribes. */
const subscriptionPoints = new Set<string | undefined>([
  'broker.journal.before_bind',
  'broker.journal.after_bind',
  'orchestrator.journal.claimed',
  'orchestrator.journal.bound',
]);

/** Runs the plans one after the other on one fleet, then holds what callers were told against what is stored and counted. */
export async function runCampaign(options: CampaignOptions): Promise<CampaignReport> {
  const campaign = new Campaign();
  await using fleet = await startFleet(
    { workers: options.workers ?? 3, journal: options.journal ?? true },
    {
      onDeath: (death) => campaign.died(death),
      onWorker: (_, message) => campaign.heard(message),
    },
  );
  campaign.fleet = fleet;
  let runs = 0;
  for (const plan of options.plans) {
    if (runs++ >= options.runs) break;
    options.onRun?.(runs);
    await campaign.run(plan);
  }
  const stored = await storedAtTheEnd(fleet);
  const { kills, crashes, ledger } = campaign;
  return {
    runs: Math.min(runs, options.runs),
    kills,
    crashes,
    verdict: judge(ledger, readCounter(fleet.counterFile), stored),
  };
}

/** A death at that time, with the workers that have had no result since. */
interface Recovery {
  kill: Kill;
  at: number;
  waiting: Set<string>;
}

class Campaign {
  readonly ledger = new Ledger();
  readonly kills: Kill[] = [];
  readonly crashes: string[] = [];
  fleet!: Fleet;
  /** Deaths by victim. A death may be noticed when the next run has begun. */
  readonly #plans = new Map<string, RunPlan>();
  #plan: RunPlan | undefined;
  #endsUntilKill = Number.POSITIVE_INFINITY;
  #died = Promise.withResolvers<void>();
  readonly #probes = new Map<string, { worker: string; recovery: Recovery }>();

  async run(plan: RunPlan): Promise<void> {
    const { kill, work } = plan;
    this.#plan = plan;
    this.#died = Promise.withResolvers<void>();
    const worker = this.fleet.workers[kill.worker]!;
    await this.fleet.up();
    this.#plans.set(victimKey(kill.victim, worker), plan);
    if (kill.point === undefined) this.#endsUntilKill = kill.n;
    else await this.fleet.arm(kill.victim, worker, `${kill.point}:${kill.n}`);
    for (const name of this.fleet.workers) this.#order(name, ordersFor(work));
    if (subscriptionPoints.has(kill.point)) {
      // The orchestrator subscribes again when it, or its broker, comes back.
      this.fleet.kill(kill.victim === 'broker' ? 'orchestrator' : 'broker', worker);
      await this.#died.promise;
    }
    await this.ledger.quiet();
    if (this.#endsUntilKill <= 0) await this.#died.promise;
    // A point behind a reply is passed when its caller may have ended already.
    if (kill.point !== undefined && kill.n === 1) await within(deadlineMs, this.#died.promise);
    this.#endsUntilKill = Number.POSITIVE_INFINITY;
    await this.fleet.arm(kill.victim, worker, null);
    await this.fleet.up();
    await this.ledger.quiet();
  }

  heard(message: FromWorker): void {
    if ('noted' in message) this.ledger.notes.set(message.noted, message.receipt);
    else if ('asked' in message) this.ledger.asked(message.asked, message);
    else {
      this.ledger.ended(message.ended, message.end);
      this.#probeEnded(message.ended, message.end);
      if (--this.#endsUntilKill === 0) {
        const { kill } = this.#plan!;
        this.fleet.kill(kill.victim, this.fleet.workers[kill.worker]!);
      }
    }
  }

  died({ victim, worker, at, end, stderr }: Death): void {
    if (end.signal !== 'SIGKILL')
      this.crashes.push(`${victim} ended with ${end.code ?? end.signal}: ${stderr}`);
    if (worker !== undefined) {
      const orphans = this.ledger.orphaned(worker);
      if (orphans.length > 0) void this.fleet.tell(worker, { status: orphans });
    }
    const plan = this.#plans.get(victimKey(victim, worker)) ?? this.#plan;
    const kill: Kill = { victim, point: plan?.kill.point ?? 'moment' };
    this.kills.push(kill);
    this.#died.resolve();
    const recovery = { kill, at, waiting: new Set(this.fleet.workers) };
    for (const name of this.fleet.workers) this.#probe(name, recovery);
  }

  /** A call made after a death: the worker has recovered when one has a result. */
  #probe(worker: string, recovery: Recovery): void {
    const order = newOrder('echo', {});
    this.#probes.set(order.id, { worker, recovery });
    this.#order(worker, [order]);
  }

  #order(worker: string, orders: CallOrder[]): void {
    for (const order of orders) this.ledger.open({ ...order, worker, timeoutMs: deadlineMs });
    void this.fleet.tell(worker, { calls: orders, notes: [newId()] });
  }

  #probeEnded(id: string, end: CallEnd): void {
    const probe = this.#probes.get(id);
    if (probe === undefined) return;
    this.#probes.delete(id);
    const { worker, recovery } = probe;
    const elapsedMs = performance.now() - recovery.at;
    if (end.code !== undefined) {
      if (elapsedMs < deadlineMs) this.#probe(worker, recovery);
      return;
    }
    recovery.waiting.delete(worker);
    if (recovery.waiting.size === 0) recovery.kill.recoveryMs = elapsedMs;
  }
}

/** Resolves with the promise, or when the time is over. */
async function within(ms: number, promise: Promise<void>): Promise<void> {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([promise, over]);
  clearTimeout(timer);
}

function victimKey(victim: Victim, worker: string | undefined): string {
  return victim === 'worker' ? `worker ${worker}` : victim;
}

function ordersFor(work: WorkPlan): CallOrder[] {
  const times = (n: number, make: () => CallOrder): CallOrder[] => Array.from({ length: n }, make);
  return [
    ...times(work.count, () => newOrder('count', {})),
    ...times(work.slow, () => newOrder('slow', { ms: work.slowMs })),
    ...times(work.echo, () => newOrder('echo', {})),
  ];
}

function newOrder(tool: CallOrder['tool'], args: Record<string, unknown>): CallOrder {
  // A worker adds the time for which a call may wait for a decision.
  const timeoutMs = tool === 'slow' ? deadlineMs - askDeadlineMs : deadlineMs;
  return { id: newId(), tool, arguments: args, timeoutMs };
}

/** Stops the fleet as soon as no call waits in the database, or after 5 s with those that still do. */
async function storedAtTheEnd(fleet: Fleet): Promise<StoredMessages> {
  const until = performance.now() + 5_000;
  const waits = async (): Promise<boolean> =>
    (await readStoredMessages(fleet.dataDir, sinkAgent)).waitingCalls.length > 0;
  while ((await waits()) && performance.now() < until)
    await new Promise((resolve) => setTimeout(resolve, 50));
  await fleet.stop();
  return readStoredMessages(fleet.dataDir, sinkAgent, fleet.journalFile);
}
