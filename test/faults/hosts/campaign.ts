import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openPostgresStores } from '@signalbox/postgres';
import { openPostgresJournal } from '@signalbox/postgres/journal';
import { late, within } from '@signalbox/serving';
import { readCounter } from '@signalbox/testing';
import { Ledger } from '../ledger.ts';
import { newId } from '../new-id.ts';
import { judge, type Verdict } from '../oracle.ts';
import { Mailbox } from '../postgres/mailbox.ts';
import { Recovery } from '../postgres/recovery.ts';
import { type CallEnd, type FromWorker, sinkAgent } from '../process-messages.ts';
import type { RestartingProcess } from '../restarting-process.ts';
import { storedMessagesOf } from '../stored-messages.ts';
import type { AgentOrder } from './agents-main.ts';
import type { HostEvent, HostEventKind } from './plan.ts';
import { type HostSite, type ServerName, servers, startHostSite } from './site.ts';

/** An event that has happened. Times are in milliseconds, from the moment at which its cause was removed. */
export interface HostEventRecord {
  kind: HostEventKind;
  messagesMs: number | undefined;
  /** The time until a call of each server that began after the event had its result. */
  callsMs: Partial<Record<ServerName, number>>;
  faults: string[];
}

export interface HostCampaignReport {
  events: HostEventRecord[];
  verdict: Verdict;
  falseDenials: string[];
  messages: { sent: number; lost: string[]; storedTwice: string[]; untyped: string[] };
  partitions: boolean;
  faults: string[];
  directory: string;
}

const callDeadlineMs = 20_000;
/** The time between two calls of which the first with a result ends the recovery. */
const probeEveryMs = 500;
const recoveryLimitMs = 60_000;

/** The servers that an event takes away for a time. Calls of others must not be refused as unreachable. */
const struck: Readonly<Record<HostEventKind, readonly ServerName[]>> = {
  'kill broker': [],
  'end broker': [],
  'stop broker': servers,
  'kill all brokers': servers,
  'kill hub': servers,
  'kill gpu': ['gpu'],
  'stop gpu': ['gpu'],
  'end gpu': ['gpu'],
  'kill lab': ['lab'],
  'end lab': ['lab'],
  'cut lab off': ['lab'],
  'cut gpu off': ['gpu'],
  'kill database': servers,
  'restart database': servers,
  'cut database off': servers,
};

/** Runs the events one after the other, then holds what agents were told against what is stored and counted. */
export async function runHostCampaign(options: {
  events: readonly HostEvent[];
  agents: number;
  onEvent: (record: HostEventRecord) => void;
  signal: AbortSignal;
}): Promise<HostCampaignReport> {
  const ledger = new Ledger();
  const ofServer = new Map<string, ServerName>();
  const waiting = new Map<string, (end: CallEnd) => void>();
  const falseDenials: string[] = [];
  let present: HostEventKind | undefined;
  const ended = (message: unknown): void => {
    const { ended: id, end } = message as Extract<FromWorker, { ended: string }>;
    ledger.ended(id, end);
    waiting.get(id)?.(end);
    const server = ofServer.get(id)!;
    const isDenied = ['permission_denied', 'tool_not_found', 'invalid_arguments'].includes(end.code ?? '');
    const isAway = end.code === 'mcp_server_unreachable' && present && !struck[present].includes(server);
    if (isDenied || isAway) falseDenials.push(`${present ?? 'the end'}: ${id} of ${server}: ${end.code}`);
  };
  const names = ['mail-1', 'mail-2'];
  let isOver = false;
  const deaths: string[] = [];
  await using site = await startHostSite({
    agents: options.agents,
    mailboxes: names.flatMap((name) => [`${name}-sender`, `${name}-reader`]),
    onDeath: (name, { code, signal }, stderr) => {
      // One whose session is over, or that lost its lead, ends by itself, and is started again.
      const isFenced = /store_in_use|journal_in_use|lost_lead|database_restored|taken_over/.test(stderr);
      if (isOver || signal === 'SIGKILL' || code === 0 || isFenced) return;
      deaths.push(`${name} ended with ${code ?? signal}: ${stderr.trim().slice(-300)}`);
    },
    onEnded: ended,
  });
  let recovery: Recovery | undefined;
  const mailboxes = names.map(
    (name) =>
      new Mailbox({
        ...{ name, brokers: site.urls, ca: site.ca, tokens: site.tokens },
        onSuccess: (client, startedAt, needs) =>
          recovery?.succeeded(client, startedAt, performance.now(), needs),
        onLost: (client) => recovery?.lost(client, performance.now()),
      }),
  );
  const order = (agent: string, server: ServerName, tool: string, timeoutMs: number): AgentOrder => {
    const id = newId();
    ledger.open({ id, worker: agent, tool, timeoutMs });
    ofServer.set(id, server);
    return { agent, id, tool: `mcp_${server}__${tool}`, arguments: {}, timeoutMs };
  };
  const timeline = createWriteStream(join(site.directory, 'campaign.log'));
  const note = (fact: object): void =>
    void timeline.write(`${JSON.stringify({ time: new Date().toISOString(), ...fact })}\n`);
  let probes = 0;
  /** Resolves with the time until the first result of the calls that are made from now on; `undefined` if there was none. */
  const probe = async (server: ServerName, from: number): Promise<number | undefined> => {
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    const call = (): void => {
      // Each call is that of another agent: few calls of one agent run at a time.
      const agent = site.names[probes++ % site.names.length]!;
      const one = order(agent, server, 'echo', callDeadlineMs);
      waiting.set(one.id, (end) => {
        waiting.delete(one.id);
        note({ probe: server, id: one.id, end });
        if (end.code === undefined) resolve(performance.now() - from);
      });
      note({ probe: server, id: one.id });
      site.agents.send([one]);
    };
    call();
    const calling = setInterval(call, probeEveryMs);
    const limit = setTimeout(() => resolve(undefined), recoveryLimitMs);
    const recoveredMs = await promise;
    clearInterval(calling);
    clearTimeout(limit);
    return recoveredMs;
  };
  const records: HostEventRecord[] = [];
  await Promise.all(servers.map((server) => probe(server, performance.now())));
  for (const event of options.events) {
    // One that broke the system leaves nothing to learn from the next.
    if (options.signal.aborted || records.at(-1)?.faults.some((fault) => fault.startsWith('no '))) break;
    present = event.kind;
    const orders = site.names.map((agent, at) =>
      order(
        agent,
        servers[(at + event.which) % servers.length]!,
        at % 3 === 0 ? 'echo' : 'count',
        callDeadlineMs,
      ),
    );
    site.agents.send(orders);
    await delay(event.delayMs);
    const clients = mailboxes.flatMap(({ sender, reader }) => [sender, reader]);
    note({ event: event.kind, which: event.which });
    const healedAt = await strike(site, event);
    note({ healed: event.kind });
    recovery = new Recovery(clients, healedAt);
    recovery.struck(healedAt);
    const [times] = await Promise.all([
      Promise.all(servers.map(async (server) => [server, await probe(server, healedAt)] as const)),
      recovery.over(recoveryLimitMs),
    ]);
    const record: HostEventRecord = {
      kind: event.kind,
      messagesMs: recovery.waiting.size > 0 ? undefined : Math.max(...recovery.sinceEvent.values()),
      callsMs: Object.fromEntries(times.filter(([, ms]) => ms !== undefined)),
      faults: deaths.splice(0),
    };
    if (record.messagesMs === undefined)
      record.faults.push(`no message from ${[...recovery.waiting].join(', ')}`);
    for (const [server, ms] of times) if (ms === undefined) record.faults.push(`no call of ${server}`);
    for (const { disordered } of mailboxes) record.faults.push(...disordered.splice(0));
    for (const process of processesOf(site))
      if ((await within(process.ready(), recoveryLimitMs)) === late)
        record.faults.push(`${process.name} was not ready again`);
    await ledger.quiet();
    note({ over: record });
    records.push(record);
    options.onEvent(record);
  }
  present = undefined;
  await Promise.all(mailboxes.map((mailbox) => mailbox.finish(30_000)));
  isOver = true;
  await using stores = await openPostgresStores({
    url: site.postgres.url,
    schema: site.schema,
    broker: 'oracle',
  });
  await using journal = await openPostgresJournal({
    url: site.postgres.url,
    schema: site.schema,
    name: 'oracle',
  });
  const stored = await storedMessagesOf(stores.inboxes, sinkAgent, journal);
  const { entries } = await stores.inboxes.history({ since: 0, limit: 1_000_000 });
  const notes = Map.groupBy(
    entries.filter(({ kind }) => kind === 'note'),
    ({ id }) => id,
  );
  const verdict = judge(ledger, site.counterFiles.flatMap(readCounter), stored);
  const messages = {
    sent: mailboxes.reduce((sum, { sent }) => sum + sent.length, 0),
    lost: mailboxes.flatMap(({ sent, received }) => {
      const came = new Set(received);
      return sent.filter((id) => !came.has(id));
    }),
    storedTwice: [...notes].flatMap(([id, all]) => (all.length > 1 ? [id] : [])),
    untyped: mailboxes.flatMap(({ untyped }) => untyped),
  };
  const { silent, inventedResults, lostNotes, doubledCalls, doubledNotes, misreported } = verdict;
  const faults = [
    ...records.flatMap(({ kind, faults: found }) => found.map((fault) => `${kind}: ${fault}`)),
    ...Object.entries({
      silent,
      inventedResults,
      lostNotes,
      doubledCalls,
      doubledNotes,
      misreported,
      falseDenials,
      ...messages,
    }).flatMap(([what, ids]) => (typeof ids === 'number' ? [] : ids.map((id) => `${what}: ${id}`))),
  ];
  if (faults.length > 0) site.keepFiles();
  return {
    events: records,
    verdict,
    falseDenials,
    messages,
    partitions: site.machines.length > 0,
    faults,
    directory: site.directory,
  };
}

function processesOf({ brokers, hubs, gpus, lab }: HostSite): RestartingProcess<unknown>[] {
  return [...brokers, ...hubs, ...gpus, lab];
}

/**
 * Carries out an event, and resolves with the time at which its cause was removed, in monotonic milliseconds. Processes that it ends have
 * ended: until then they may still answer, and what they refuse would count against the next event.
 */
async function strike(site: HostSite, { kind, which, lengthMs }: HostEvent): Promise<number> {
  const end = async (signal: NodeJS.Signals, ...processes: RestartingProcess<unknown>[]): Promise<number> => {
    const at = performance.now();
    const ends = processes.map(({ exited }) => exited);
    for (const process of processes) process.signal(signal);
    await Promise.all(ends);
    return at;
  };
  const of = (all: readonly RestartingProcess<unknown>[]) => all[which % all.length]!;
  const stop = async (process: RestartingProcess<unknown>): Promise<void> => {
    process.signal('SIGSTOP');
    await delay(lengthMs);
    process.signal('SIGCONT');
  };
  const cut = async (at: number): Promise<void> => {
    const machine = site.machines[at];
    if (!machine) return await stop(at === 0 ? site.lab : site.gpus[0]!);
    await machine.plug(false);
    await delay(lengthMs);
    await machine.plug(true);
  };
  switch (kind) {
    case 'kill broker':
      return await end('SIGKILL', of(site.brokers));
    case 'end broker':
      return await end('SIGTERM', of(site.brokers));
    case 'stop broker':
      await stop(of(site.brokers));
      break;
    case 'kill all brokers':
      return await end('SIGKILL', ...site.brokers);
    case 'kill hub':
      return await end('SIGKILL', of(site.hubs));
    case 'kill gpu':
      return await end('SIGKILL', of(site.gpus));
    case 'end gpu':
      return await end('SIGTERM', of(site.gpus));
    case 'stop gpu':
      await stop(of(site.gpus));
      break;
    case 'kill lab':
      return await end('SIGKILL', site.lab);
    case 'end lab':
      return await end('SIGTERM', site.lab);
    case 'cut lab off':
      await cut(0);
      break;
    case 'cut gpu off':
      await cut(1);
      break;
    case 'kill database':
    case 'restart database':
      await site.postgres.stop(kind === 'kill database' ? 'immediate' : 'fast');
      await site.postgres.start();
      break;
    case 'cut database off':
      site.proxy.cutOff(which % 2 === 0 ? 'openly' : 'silently');
      await delay(lengthMs);
      site.proxy.heal();
  }
  return performance.now();
}
