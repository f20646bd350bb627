import { statSync } from 'node:fs';
import { setInterval as every } from 'node:timers/promises';
import { connectBroker } from '@signalbox/client';
import { readCounter } from '@signalbox/testing';
import { type Fleet, startFleet } from './fleet.ts';
import { Ledger } from './ledger.ts';
import { newId } from './new-id.ts';
import { judge, type Verdict } from './oracle.ts';
import { seededRandom, type Victim } from './plan.ts';
import { processFacts } from './process-facts.ts';
import { type CallOrder, type FromWorker, sinkAgent } from './process-messages.ts';
import type { SoakSample } from './soak-verdict.ts';
import { readStoredMessages } from './sqlite/stored-messages.ts';

export interface SoakOptions {
  seconds: number;
  /** The time between two kills of a random process. */
  restartSeconds: number;
  /** The number of further kills of the MCP server, evenly spread. */
  serverCrashes: number;
  sampleSeconds: number;
  /** Calls per second and worker; half as many notes. */
  rate: number;
  seed: number;
  onSample: (sample: SoakSample) => void;
}

export interface SoakReport {
  samples: SoakSample[];
  expectedProcesses: number;
  verdict: Verdict;
  /** The number of kills of the MCP server in all. */
  serverCrashes: number;
  /** Processes that ended otherwise than by being killed. */
  crashes: string[];
}

const workers = 3;
const deadlineMs = 15_000;
const tickMs = 200;
/** Keeps the back-off short, as a server that is killed every few seconds would otherwise be down most of the time. */
const sustainedUptimeMs = 500;
const victims = ['broker', 'orchestrator', 'worker', 'server'] as const;

/** Puts steady load on one fleet, kills a process now and then, and samples what the operating system reports. */
export async function runSoak(options: SoakOptions): Promise<SoakReport> {
  const ledger = new Ledger();
  const crashes: string[] = [];
  let restarts = 0;
  let serverCrashes = 0;
  await using fleet = await startFleet(
    { workers, sustainedUptimeMs },
    {
      onWorker: (_, message) => hear(ledger, message),
      onDeath: ({ victim, worker, end, stderr }) => {
        restarts++;
        if (victim === 'server') serverCrashes++;
        if (end.signal !== 'SIGKILL')
          crashes.push(`${victim} ended with ${end.code ?? end.signal}: ${stderr}`);
        const orphans = worker === undefined ? [] : ledger.orphaned(worker);
        if (orphans.length > 0) void fleet.tell(worker!, { status: orphans });
      },
    },
  );
  await using sink = await readNotes(fleet);
  const random = seededRandom(options.seed);
  const startedAt = performance.now();
  const elapsed = (): number => (performance.now() - startedAt) / 1000;
  const samples: SoakSample[] = [];
  const take = (): void => {
    const done = ledger.settled + sink.received.size;
    const sample = { seconds: elapsed(), done, restarts, ...facts(fleet) };
    samples.push(sample);
    options.onSample(sample);
  };
  const expectedProcesses = facts(fleet).processes;
  const crashSeconds = options.seconds / (options.serverCrashes + 1);
  const due = { restart: options.restartSeconds, sample: options.sampleSeconds, crash: crashSeconds };
  for await (const _ of every(tickMs)) {
    if (elapsed() >= options.seconds) break;
    load(fleet, ledger, (options.rate * tickMs) / 1000, random);
    if (elapsed() >= due.restart) {
      due.restart += options.restartSeconds;
      const victim: Victim = victims[Math.floor(random() * victims.length)]!;
      fleet.kill(victim, fleet.workers[Math.floor(random() * workers)]!);
    }
    if (elapsed() >= due.crash) {
      due.crash += crashSeconds;
      fleet.kill('server', fleet.workers[0]!);
    }
    if (elapsed() >= due.sample) {
      due.sample += options.sampleSeconds;
      take();
    }
  }
  await ledger.quiet();
  await fleet.up();
  take();
  await sink.caughtUp(ledger);
  await fleet.stop();
  const stored = {
    ...(await readStoredMessages(fleet.dataDir, sinkAgent, fleet.journalFile)),
    inbox: [...sink.received],
  };
  return {
    samples,
    expectedProcesses,
    serverCrashes,
    crashes,
    verdict: judge(ledger, readCounter(fleet.counterFile), stored),
  };
}

function hear(ledger: Ledger, message: FromWorker): void {
  if ('noted' in message) ledger.notes.set(message.noted, message.receipt);
  else if ('asked' in message) ledger.asked(message.asked, message);
  else ledger.ended(message.ended, message.end);
}

/** Orders the calls and notes of one tick. Chance rounds broken numbers, so that the rate is right on average. */
function load(fleet: Fleet, ledger: Ledger, perTick: number, random: () => number): void {
  const share = (amount: number): number => Math.floor(amount + random());
  for (const worker of fleet.workers) {
    const calls = Array.from({ length: share(perTick) }, (): CallOrder => {
      const isSafe = random() < 0.5;
      const [tool, args] = isSafe ? (['echo', {}] as const) : (['slow', { ms: 10 }] as const);
      return { id: newId(), tool, arguments: args, timeoutMs: deadlineMs };
    });
    const notes = Array.from({ length: share(perTick / 2) }, newId);
    for (const call of calls) ledger.open({ ...call, worker });
    void fleet.tell(worker, { calls, notes });
  }
}

/** Reads the notes as they come, so that the inbox stays short. */
async function readNotes(fleet: Fleet) {
  const received = new Set<string>();
  const client = await connectBroker({ url: fleet.url, token: fleet.sinkToken, agent: sinkAgent });
  const { messages } = await client.subscribe();
  const reading = (async () => {
    for await (const { id, seq } of messages) {
      received.add(id);
      await client.ack([seq!]);
    }
  })();
  return {
    received,
    /** Waits until each note with a receipt has come, at most 5 s. */
    async caughtUp(ledger: Ledger): Promise<void> {
      const until = performance.now() + 5_000;
      const isHere = (): boolean => [...ledger.notes].every(([id, receipt]) => !receipt || received.has(id));
      for await (const _ of every(50)) if (isHere() || performance.now() > until) break;
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await reading;
    },
  };
}

function facts(fleet: Fleet) {
  return {
    ...processFacts(process.pid, fleet.counterFile),
    databaseMiB: fileMiB(`${fleet.dataDir}/messages.db`) + fileMiB(`${fleet.dataDir}/messages.db-wal`),
    journalMiB: fileMiB(fleet.journalFile) + fileMiB(`${fleet.journalFile}-wal`),
  };
}

function fileMiB(file: string): number {
  return (statSync(file, { throwIfNoEntry: false })?.size ?? 0) / 1024 / 1024;
}
