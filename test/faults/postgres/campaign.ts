import { appendFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { openPostgresStores } from '@signalbox/postgres';
import { openPostgresJournal } from '@signalbox/postgres/journal';
import { type ChildEnd, readCounter } from '@signalbox/testing';
import { startInstalledPostgres } from '../../support/postgres/postgres-server.ts';
import { type Agents, type Death, startAgents } from '../agents.ts';
import { Ledger } from '../ledger.ts';
import { newId } from '../new-id.ts';
import { judge, type Verdict } from '../oracle.ts';
import {
  askDeadlineMs,
  type CallEnd,
  type CallOrder,
  type FromWorker,
  sinkAgent,
} from '../process-messages.ts';
import { storedMessagesOf } from '../stored-messages.ts';
import { Mailbox } from './mailbox.ts';
import type { EventKind, FaultEvent } from './plan.ts';
import { Recovery } from './recovery.ts';
import { type BrokerTimes, type Site, type SiteBroker, startSite } from './site.ts';
import { strikes } from './strikes.ts';

export interface PostgresCampaignOptions {
  events: readonly FaultEvent[];
  workers: number;
  mailboxes: number;
  /** The lease and the heartbeat of the brokers, until the events that use the defaults. */
  times: BrokerTimes;
  onEvent: (record: EventRecord) => void;
  /** Ends the run after the event that goes on. */
  signal: AbortSignal;
}

/** An event that has happened. Times are in milliseconds. */
export interface EventRecord {
  number: number;
  kind: EventKind;
  isAtDefaults: boolean;
  broker: string;
  /** The time from the event until its cause was removed. */
  healedAfterMs?: number;
  /** The time from the event until the last client had done something that it began after it; absent if one had not within a minute. */
  recoveryMs?: number;
  /** The same from the moment at which that client, or the orchestrator that it calls, lost its connection. */
  sinceLossMs?: number;
  /** The client that recovered last. */
  slowest?: string;
  /** The promises that were broken meanwhile, as far as they can be seen at once. */
  faults: string[];
}

export interface PostgresCampaignReport {
  events: EventRecord[];
  verdict: Verdict;
  mail: {
    sent: number;
    /** Messages that came more than once, as those do whose ack was lost. */
    again: number;
    refusals: Record<string, number>;
    lost: string[];
    disordered: string[];
    ackedTwice: string[];
    storedTwice: string[];
    untyped: string[];
  };
  /** Brokers that ended by themselves because their incarnation was over. */
  fenced: number;
  /** Broken promises, each with the number of its event. */
  faults: string[];
  /** The folder with the logs of the brokers, kept if there are faults. */
  directory: string;
}

const callDeadlineMs = 15_000;
const recoveryLimitMs = 60_000;
const retryMs = 20;
/** The events that strike the database, and so both brokers. */
const strikesAll: ReadonlySet<EventKind> = new Set(['end connections', 'restart database', 'power cut']);
/** The characters of what a process said last that are in a report. */
const lastWords = 400;

/** Runs the events one after the other, then holds what senders, readers and callers were told against what is stored and counted. */
export async function runPostgresCampaign(options: PostgresCampaignOptions): Promise<PostgresCampaignReport> {
  await using running = new AsyncDisposableStack();
  const campaign: PostgresCampaign = new PostgresCampaign();
  const server = running.use(await startInstalledPostgres());
  const site = running.use(
    await startSite(server, options.times, { onDeath: (...death) => campaign.brokerDied(...death) }),
  );
  try {
    const names = Array.from({ length: options.mailboxes }, (_, at) => `mail-${at + 1}`);
    const agents = running.use(
      await startAgents(
        {
          url: site.url,
          operatorToken: site.brokers[0]!.operatorToken,
          directory: site.directory,
          database: { url: server.url, schema: site.schema },
          workers: options.workers,
          others: names.flatMap((name) => [`${name}-sender`, `${name}-reader`]),
        },
        {
          onDeath: (death) => campaign.agentDied(death),
          onWorker: (worker, message) => campaign.heard(worker, message),
          onLost: (agent) => campaign.lost(agent),
        },
      ),
    );
    const brokers = site.brokers.map(({ url }) => url);
    const mailboxes = names.map(
      (name) =>
        new Mailbox({
          ...{ name, brokers, tokens: agents.tokens },
          onSuccess: (...success) => campaign.succeeded(...success),
          onLost: (client) => campaign.lost(client),
        }),
    );
    campaign.begin(site, agents, mailboxes);
    for (const event of options.events) {
      if (options.signal.aborted) break;
      const record = await campaign.run(event);
      options.onEvent(record);
      // A site that has stopped working says nothing about the next event.
      if (record.recoveryMs === undefined) break;
    }
    const report = await campaign.end();
    if (report.faults.length > 0) site.keepFiles();
    return report;
  } catch (error) {
    site.keepFiles();
    throw new Error(`the campaign broke off at event ${campaign.number}; logs are in ${site.directory}`, {
      cause: error,
    });
  }
}

class PostgresCampaign {
  readonly #ledger = new Ledger();
  readonly #records: EventRecord[] = [];
  #site!: Site;
  #agents!: Agents;
  #mailboxes: readonly Mailbox[] = [];
  #record: EventRecord | undefined;
  #recovery: Recovery | undefined;
  readonly #probes = new Map<string, { worker: string; startedAt: number }>();
  #fenced = 0;
  /** The ways in which a broker may end apart from kill -9. */
  #mayEnd: 'fenced' | 'terminated' | undefined;
  #isOver = false;

  begin(site: Site, agents: Agents, mailboxes: readonly Mailbox[]): void {
    this.#site = site;
    this.#agents = agents;
    this.#mailboxes = mailboxes;
  }

  get number(): number {
    return this.#records.length;
  }

  async run(event: FaultEvent): Promise<EventRecord> {
    const { kind, isAtDefaults } = event;
    const site = this.#site;
    if (isAtDefaults && site.times !== 'command') await this.#startCommands();
    const broker = await this.#brokerOf(event);
    const record: EventRecord = {
      ...{ number: this.number + 1, kind, isAtDefaults },
      broker: strikesAll.has(kind) ? 'all' : broker.name,
      faults: [],
    };
    this.#records.push(record);
    this.#record = record;
    for (const [at, { sender, reader }] of event.moves.entries()) {
      const mailbox = this.#mailboxes[at]!;
      if (sender) await mailbox.move(mailbox.sender);
      if (reader) await mailbox.move(mailbox.reader);
    }
    for (const worker of this.#agents.workers.keys()) this.#order(worker, ordersFor(event.calls), 1);
    await delay(event.delayMs);
    this.#mayEnd =
      kind === 'terminate' ? 'terminated' : kind === 'stop' || kind === 'cut off' ? 'fenced' : undefined;
    const startedAt = performance.now();
    const clients = this.#mailboxes.flatMap(({ sender, reader }) => [sender, reader]);
    const recovery = new Recovery([...clients, ...this.#agents.workers.keys()], startedAt);
    this.#recovery = recovery;
    const { orchestrator } = this.#agents;
    const healing = await strikes[kind]({ site, broker, orchestrator }, event);
    recovery.struck(performance.now());
    for (const worker of this.#agents.workers.keys()) this.#probe(worker);
    if (healing) {
      await delay(healing.afterMs);
      if (healing.afterMs > 0) record.healedAfterMs = performance.now() - startedAt;
      await healing.heal();
    }
    await recovery.over(recoveryLimitMs);
    for (const { disordered } of this.#mailboxes)
      for (const what of disordered.splice(0)) this.#fault(`out of order: ${what}`);
    this.#note(record, recovery);
    this.#recovery = undefined;
    // A broker that was stopped or cut off ends a while after it is healed.
    while (!(await site.allLive())) await delay(retryMs);
    await Promise.all([site.up(), orchestrator.ready()]);
    await this.#ledger.quiet();
    this.#mayEnd = undefined;
    return record;
  }

  async end(): Promise<PostgresCampaignReport> {
    this.#record = undefined;
    await Promise.all(this.#mailboxes.map((mailbox) => mailbox.finish(30_000)));
    this.#isOver = true;
    const { site, verdict, storedTwice } = await this.#judge();
    const mailboxes = this.#mailboxes;
    const mail = {
      sent: sum(mailboxes.map(({ sent }) => sent.length)),
      again: sum(mailboxes.map(({ again }) => again)),
      refusals: sumByName(mailboxes.map(({ refusals }) => refusals)),
      lost: mailboxes.flatMap(({ sent, received }) => {
        const came = new Set(received);
        return sent.filter((id) => !came.has(id));
      }),
      disordered: mailboxes.flatMap(({ disordered }) => disordered),
      ackedTwice: mailboxes.flatMap(({ ackedTwice }) => ackedTwice),
      storedTwice,
      untyped: mailboxes.flatMap(({ untyped }) => untyped),
    };
    const report = { events: this.#records, verdict, mail, fenced: this.#fenced, directory: site.directory };
    return { ...report, faults: faultsOf(report) };
  }

  heard(worker: string, message: FromWorker): void {
    if ('noted' in message) this.#ledger.notes.set(message.noted, message.receipt);
    else if ('asked' in message) this.#ledger.asked(message.asked, message);
    else {
      this.#ledger.ended(message.ended, message.end);
      this.#probeEnded(worker, message.ended, message.end);
    }
  }

  succeeded(client: string, startedAt: number, needs: readonly string[]): void {
    this.#recovery?.succeeded(client, startedAt, performance.now(), needs);
  }

  lost(client: string): void {
    this.#recovery?.lost(client, performance.now());
  }

  brokerDied(broker: string, { code, signal }: ChildEnd, stderr: string): void {
    if (this.#isOver || signal === 'SIGKILL') return;
    // The broker says why it ends, and exits with an error.
    const isFenced = code !== 0 && stderr.includes('store_in_use');
    if (isFenced) this.#fenced++;
    if (isFenced && this.#mayEnd === 'fenced') return;
    if (code === 0 && this.#mayEnd === 'terminated') return;
    this.#fault(`the broker ${broker} ended with ${code ?? signal}: ${this.#keep(stderr)}`);
  }

  agentDied({ victim, worker, end, stderr }: Death): void {
    if (this.#isOver || end.signal === 'SIGKILL') return;
    this.#fault(`${worker ?? victim} ended with ${end.code ?? end.signal}: ${this.#keep(stderr)}`);
  }

  /** Keeps the output of a process in a file. Returns the name of the file and the last words. */
  #keep(stderr: string): string {
    const file = `${this.#site.directory}/stderr-${this.number}.log`;
    appendFileSync(file, stderr);
    return `${stderr.trim().slice(-lastWords)} (${file})`;
  }

  /** Ends the brokers one after the other, and starts them by the command with the default lease and heartbeat. */
  async #startCommands(): Promise<void> {
    this.#site.times = 'command';
    this.#mayEnd = 'terminated';
    for (const { process } of this.#site.brokers) {
      const before = process.pid;
      process.signal('SIGTERM');
      while (process.pid === before || process.pid === undefined) await delay(retryMs);
      await this.#ledger.quiet();
    }
    this.#mayEnd = undefined;
  }

  /** Finds the broker that an event strikes, as soon as one holds the orchestrator's inbox. */
  async #brokerOf({ at }: FaultEvent): Promise<SiteBroker> {
    const { brokers } = this.#site;
    for (;;) {
      const holder = await this.#site.holderOf('orchestrator');
      if (holder) return at === 'holder' ? holder : brokers.find((one) => one !== holder)!;
      await delay(retryMs);
    }
  }

  #note(record: EventRecord, recovery: Recovery): void {
    if (recovery.waiting.size > 0) {
      this.#fault(`not recovered within ${recoveryLimitMs} ms: ${[...recovery.waiting].join(', ')}`);
      return;
    }
    const [slowest, ms] = [...recovery.sinceEvent].sort(([, a], [, b]) => b - a)[0]!;
    record.recoveryMs = ms;
    record.slowest = slowest;
    record.sinceLossMs = Math.max(...recovery.sinceLoss.values());
  }

  #fault(text: string): void {
    const { number, kind } = this.#record ?? { number: this.number, kind: 'the end' };
    const fault = `event ${number} (${kind}): ${text}`;
    this.#records.at(-1)?.faults.push(fault);
  }

  #order(worker: string, orders: CallOrder[], notes: number): void {
    for (const order of orders) this.#ledger.open({ ...order, worker, timeoutMs: callDeadlineMs });
    void this.#agents.workers
      .get(worker)!
      .ready()
      .then((process) =>
        process.send({ calls: orders, notes: Array.from({ length: notes }, () => newId()) }),
      );
  }

  #probe(worker: string): void {
    const order = newOrder('echo', {});
    this.#probes.set(order.id, { worker, startedAt: performance.now() });
    this.#order(worker, [order], 0);
  }

  #probeEnded(worker: string, id: string, end: CallEnd): void {
    const probe = this.#probes.get(id);
    if (probe === undefined) return;
    this.#probes.delete(id);
    const recovery = this.#recovery;
    if (end.code === undefined)
      recovery?.succeeded(worker, probe.startedAt, performance.now(), ['orchestrator']);
    else if (recovery?.waiting.has(worker)) void delay(retryMs).then(() => this.#probe(worker));
  }

  async #judge(): Promise<{ site: Site; verdict: Verdict; storedTwice: string[] }> {
    const site = this.#site;
    await using stores = await openPostgresStores({
      url: site.server.url,
      schema: site.schema,
      broker: 'oracle',
    });
    const { url } = site.server;
    await using journal = await openPostgresJournal({ url, schema: site.schema, name: 'oracle' });
    const stored = await storedMessagesOf(stores.inboxes, sinkAgent, journal);
    const { entries } = await stores.inboxes.history({ since: 0, limit: 1_000_000 });
    const times = Map.groupBy(
      entries.filter(({ kind }) => kind === 'note'),
      ({ id }) => id,
    );
    return {
      site,
      verdict: judge(this.#ledger, readCounter(this.#agents.counterFile), stored),
      storedTwice: [...times].flatMap(([id, all]) => (all.length > 1 ? [id] : [])),
    };
  }
}

function ordersFor({ count, slow, echo, slowMs }: FaultEvent['calls']): CallOrder[] {
  const times = (n: number, make: () => CallOrder): CallOrder[] => Array.from({ length: n }, make);
  return [
    ...times(count, () => newOrder('count', {})),
    ...times(slow, () => newOrder('slow', { ms: slowMs })),
    ...times(echo, () => newOrder('echo', {})),
  ];
}

function newOrder(tool: CallOrder['tool'], args: Record<string, unknown>): CallOrder {
  // A worker adds the time for which a call may wait for a decision.
  const timeoutMs = tool === 'slow' ? callDeadlineMs - askDeadlineMs : callDeadlineMs;
  return { id: newId(), tool, arguments: args, timeoutMs };
}

/** Lists every broken promise of a report. */
function faultsOf({ events, verdict, mail }: Omit<PostgresCampaignReport, 'faults'>): string[] {
  const { silent, inventedResults, unrecorded, unsettled, lostNotes, doubledCalls, doubledNotes } = verdict;
  const lists = {
    'a call without an end by its deadline': silent,
    'a result of what never ran': inventedResults,
    'a result without a record': unrecorded,
    'left waiting in the database': unsettled,
    'a receipt, but no note': lostNotes,
    'a receipt, but the message never came': mail.lost,
    'ran twice': doubledCalls,
    'stored twice': [...doubledNotes, ...mail.storedTwice],
    'acked twice': mail.ackedTwice,
    'said not to have run, but ran': verdict.misreported,
    'came before an earlier one': mail.disordered,
    'failed without a code': mail.untyped,
  };
  const found = Object.entries(lists).flatMap(([what, ids]) =>
    ids.length > 0 ? [`${what} (${ids.length}): ${ids.slice(0, 20).join(' ')}`] : [],
  );
  if (verdict.endedTwice > 0) found.push(`${verdict.endedTwice} calls ended twice`);
  return [...events.flatMap(({ faults }) => faults), ...found];
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, n) => total + n, 0);
}

function sumByName(all: readonly ReadonlyMap<string, number>[]): Record<string, number> {
  const total: Record<string, number> = {};
  for (const counts of all) for (const [name, n] of counts) total[name] = (total[name] ?? 0) + n;
  return total;
}
