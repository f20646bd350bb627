import { readdirSync, statSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type BrokerClient, connectBroker } from '@signalbox/client';
import { issueToken, listDeadLetters, listTokens } from '@signalbox/client/operator';
import { openJwtProvider } from '@signalbox/daemon/identity-provider';
import { TlsFiles } from '@signalbox/daemon/tls';
import { startMcpHost } from '@signalbox/mcp-host';
import { startOrchestrator, wholePolicy } from '@signalbox/orchestrator';
import { openSqliteJournal } from '@signalbox/store/journal';
import {
  counterServer,
  readCounter,
  startTestBroker,
  tempDir,
  testAuthority,
  testClock,
} from '@signalbox/testing';
import { type IssuerKey, issuerKey, startIssuer } from '../support/identity-provider/issuer.ts';
import { authOf } from '../support/identity-provider/provided-broker.ts';
import { processFacts } from './process-facts.ts';
import type { DaySample } from './soak-verdict.ts';

export interface MonthReport {
  days: DaySample[];
  /** The things that were not done as they should have been. */
  wrong: string[];
  /** The things that were done, in words. */
  done: string;
}

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
/** JWTs and minted tokens end twice a day, so that their holders renew them. */
const tokenMs = 11 * hour;
const notesPerHour = 5;
const collectGarbage = gc();

/**
 * Lets days pass, hour by hour, for a broker and an orchestrator of this process whose clocks it moves: messages that are read, expire
 * or are due later, schedules, dead letters, tool calls, tokens and JWTs that are renewed, keys and certificates that are replaced.
 */
export async function runMonth(days: number, onDay: (sample: DaySample) => void): Promise<MonthReport> {
  await using fleet = await startFleet();
  const { clock, rosa, bob, operator } = fleet;
  const [ofRosa, ofBob] = [reader(rosa), reader(bob)];
  const samples: DaySample[] = [];
  const sent = { notes: 0, lost: 0, later: 0, calls: 0, runs: 0 };
  let unexplained = 0;
  for (let hours = 1; hours <= days * 24; hours++) {
    const before = { twice: ofRosa.twice + ofBob.twice, renewals: fleet.renewals() };
    clock.advance(hour);
    sent.runs++;
    await ofRosa.until(sent.runs);
    for (let n = 0; n < notesPerHour; n++)
      await rosa.deliver({ to: 'ci-bob', kind: 'note', body: 'x'.repeat(500) });
    sent.notes += notesPerHour;
    // Nobody reads it, so that it becomes a dead letter.
    await rosa.deliver({ to: 'ci-absent', kind: 'note', body: 'x'.repeat(500), ttlMs: 30 * minute });
    sent.lost++;
    if (hours + 3 <= days * 24) {
      await rosa.deliver({ to: 'ci-bob', kind: 'note', body: 'later', notBeforeMs: 3 * hour - minute });
      sent.later++;
    }
    const reply = await rosa.request(
      'orchestrator',
      'mcp_request',
      { op: 'call', tool: 'mcp_counter__count', arguments: {} },
      { timeoutMs: 10 * minute },
    );
    if (reply.status === 'completed') sent.calls++;
    await ofBob.until(sent.notes + Math.max(0, Math.min(sent.later, hours - 3)));
    // What a connection had not acked when its token ended comes again.
    const again = ofRosa.twice + ofBob.twice - before.twice;
    if (fleet.renewals() === before.renewals) unexplained += again;
    if (hours % 24 === 0) {
      const at = hours / 24;
      await fleet.rotateKey();
      if (at % 7 === 0) await fleet.replaceCertificate();
      const tokens = (await listTokens(operator)).length;
      const dead = (await listDeadLetters(operator, { limit: 200 })).messages.length;
      const sample = { day: at, tokens, dead, ...fleet.facts() };
      samples.push(sample);
      onDay(sample);
    }
  }
  const started = readCounter(fleet.counterFile).filter(({ at }) => at === 'start').length;
  const wrong = [
    ...(started === days * 24 ? [] : [`${started} calls started, and ${days * 24} were made`]),
    ...(sent.calls === days * 24 ? [] : [`${sent.calls} calls of ${days * 24} were answered`]),
    ...(unexplained === 0 ? [] : [`${unexplained} messages came twice, and no connection had ended`]),
    ...fleet.problems,
  ];
  const done = `${sent.runs} runs of a schedule, ${sent.notes + sent.later} notes (${sent.later} scheduled), ${sent.lost} that expired, ${sent.calls} calls; ${fleet.renewals()} renewals of tokens (${ofRosa.twice + ofBob.twice} messages came again), ${days} new keys, ${Math.floor(days / 7)} new certificates`;
  return { days: samples, wrong, done };
}

async function startFleet() {
  await using starting = new AsyncDisposableStack();
  const { path } = starting.use(await tempDir());
  const clock = testClock();
  const { now, monotonic } = clock;
  const problems: string[] = [];
  const reloads: (() => void)[] = [];

  let key: IssuerKey = await issuerKey('ES256', 'day-0');
  const issuer = starting.use(await startIssuer([key]));
  const provider = openJwtProvider(
    { ...authOf(issuer.url), roles: { writers: 'worker' }, permissions: {} },
    { now, monotonic },
  );
  const authority = await testAuthority();
  const tlsFiles = { cert: join(path, 'cert.pem'), key: join(path, 'key.pem') };
  // Clients check the certificate by the real time.
  const newPair = () => authority.issue({ names: ['127.0.0.1', 'localhost'] });
  const writePair = async (pair: { cert: string; key: string }): Promise<void> => {
    for (const part of ['key', 'cert'] as const) {
      await writeFile(`${tlsFiles[part]}.new`, pair[part], { mode: 0o600 });
      await rename(`${tlsFiles[part]}.new`, tlsFiles[part]);
    }
  };
  const first = await newPair();
  await writePair(first);

  const broker = starting.use(
    await startTestBroker({
      now,
      monotonic,
      tls: first,
      identityProvider: provider,
      durability: 'process',
      limits: {
        deadLetters: { ageMs: 3 * day },
        audit: { callBytes: 1 << 20, connectBytes: 1 << 20, refusalBytes: 1 << 20, lossBytes: 1 << 20 },
      },
      schedules: { hourly: { everyMs: hour, to: 'rosa', kind: 'note', text: 'an hour has passed' } },
      log: ({ level, event, error }) => {
        if (level === 'error') problems.push(`the broker reported ${event}: ${String(error)}`);
      },
    }),
  );
  starting.use(
    await TlsFiles.open({
      ...tlsFiles,
      now,
      onChange: (pair) => {
        broker.broker.setTls(pair);
        reloads.shift()?.();
      },
      log: () => {},
    }),
  );
  const { url } = broker;
  const connect = async (agent: string, token: string, renewToken?: () => Promise<string>) =>
    starting.use(
      await connectBroker({ url, token, agent, ca: authority.ca, ...(renewToken && { renewToken }) }),
    );

  let renewals = 0;
  const jwt = (): Promise<string> =>
    issuer.sign(key, { exp: Math.floor((now() + tokenMs) / 1000), iat: Math.floor(now() / 1000) });
  const rosa = await connect('rosa', await jwt(), () => {
    renewals++;
    return jwt();
  });
  const year = 400 * day;
  const minter = await connect('ci-minter', await broker.token('ci-*', 'worker', year));
  const mint = async (agent: string): Promise<string> =>
    (await issueToken(minter, { agent, role: 'worker', ttlMs: tokenMs })).token;
  const bob = await connect('ci-bob', await mint('ci-bob'), () => {
    renewals++;
    return mint('ci-bob');
  });
  await broker.token('ci-absent', 'worker', year);
  const operator = await connect('operator', await broker.operatorToken());

  const counterFile = join(path, 'counter.jsonl');
  const journalFile = join(path, 'journal.db');
  const journal = starting.use(
    await openSqliteJournal({ file: journalFile, now, monotonic, pruneEveryMs: 100 }),
  );
  const host = starting.use(startMcpHost({ servers: { counter: counterServer(counterFile) }, now }));
  await host.inventory();
  const client = await connect('orchestrator', await broker.token('orchestrator', 'orchestrator', year));
  starting.use(
    await startOrchestrator({
      client,
      host,
      policy: wholePolicy(),
      journal,
      now,
      monotonic,
      askSettledEveryMs: 100,
    }),
  );

  const resources = starting.move();
  return {
    clock,
    rosa,
    bob,
    operator,
    counterFile,
    problems,
    renewals: () => renewals,
    /** The provider publishes another key, and signs with it. The one before is gone. */
    async rotateKey(): Promise<void> {
      key = await issuerKey('ES256', `at-${now()}`);
      issuer.published = [key.jwk];
    },
    async replaceCertificate(): Promise<void> {
      const reloaded = new Promise<void>((resolve) => reloads.push(resolve));
      await writePair(await newPair());
      await reloaded;
    },
    facts() {
      collectGarbage();
      const { heapUsed, rss } = process.memoryUsage();
      return {
        heapMiB: heapUsed / 1024 / 1024,
        rssMiB: rss / 1024 / 1024,
        handles: readdirSync('/proc/self/fd').length,
        processes: processFacts(process.pid, counterFile).processes,
        ...filesMiB(broker.dataDir),
        journalMiB: fileMiB(journalFile) + fileMiB(`${journalFile}-wal`),
      };
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Reads an inbox and acks what comes. */
function reader(client: BrokerClient) {
  const ids = new Set<string>();
  const waiting: { count: number; resolve: () => void }[] = [];
  const state = {
    /** Messages that came again. */
    twice: 0,
    /** Resolves when so many messages have come. */
    until: (count: number): Promise<void> =>
      new Promise((resolve) => {
        waiting.push({ count, resolve });
        settle();
      }),
  };
  const settle = (): void => {
    while (waiting[0] && waiting[0].count <= ids.size) waiting.shift()!.resolve();
  };
  void (async () => {
    const { messages } = await client.subscribe();
    for await (const { id, seq } of messages) {
      if (ids.has(id)) state.twice++;
      ids.add(id);
      await client.ack([seq!]);
      settle();
    }
  })();
  return state;
}

function gc(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

function filesMiB(directory: string): { auditMiB: number; dataMiB: number } {
  const sizes = { auditMiB: 0, dataMiB: 0 };
  for (const name of readdirSync(directory))
    sizes[name.startsWith('audit') ? 'auditMiB' : 'dataMiB'] += fileMiB(join(directory, name));
  return sizes;
}

function fileMiB(file: string): number {
  return (statSync(file, { throwIfNoEntry: false })?.size ?? 0) / 1024 / 1024;
}
