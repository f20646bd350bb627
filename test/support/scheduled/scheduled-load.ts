import { setTimeout } from 'node:timers/promises';
import { connectWire, lastingPort, startChild, type WireClient } from '@signalbox/testing';

/** A broker in a process of its own, with a sender and a consumer. */
export interface LoadedBroker extends AsyncDisposable {
  connect(agent: 'alice' | 'bob'): Promise<WireClient>;
  /** Kills the process with SIGKILL, and starts another one on the same directory. */
  killAndRestart(): Promise<void>;
  /** The processor time that its process has used, in microseconds. */
  cpuMicros(): Promise<number>;
}

interface Ready {
  url: string;
  tokens: [alice: string, bob: string];
}

const main = new URL('./unlimited-broker-main.ts', import.meta.url);

/** Starts a broker on a data directory. */
export async function startLoadedBroker(dataDir: string): Promise<LoadedBroker> {
  const args = [dataDir, String(await lastingPort())];
  let answered: (cpuMicros: number) => void = () => {};
  const onMessage = (message: unknown): void => answered((message as { cpuMicros: number }).cpuMicros);
  let child = await startChild<Ready>(main, { args, onMessage });
  return {
    connect(agent) {
      const [alice, bob] = child.ready.tokens;
      return connectWire(child.ready.url, { agent, token: agent === 'alice' ? alice : bob });
    },
    async killAndRestart() {
      await child.end('SIGKILL');
      child = await startChild<Ready>(main, { args, onMessage });
    },
    cpuMicros() {
      const { promise, resolve } = Promise.withResolvers<number>();
      answered = resolve;
      child.send({});
      return promise;
    },
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}

const body = JSON.stringify('x'.repeat(300));

/** Sends notes to bob, `messages` of them, and resolves when all have their receipts. `notBeforeMs` says after which time each is due. */
export async function sendAll(
  alice: WireClient,
  prefix: string,
  messages: number,
  notBeforeMs?: (n: number) => number,
): Promise<void> {
  let confirmed = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  alice.socket.removeAllListeners('message');
  alice.socket.on('message', (data) => {
    confirmed += String(data).split('"type":"delivered"').length - 1;
    if (confirmed >= messages) resolve();
  });
  for (let from = 0; from < messages; from += 100) {
    let text = '';
    for (let n = from; n < Math.min(from + 100, messages); n++) {
      const fields = notBeforeMs && { not_before_ms: Math.max(1, notBeforeMs(n)) };
      const frame = { type: 'deliver', to: 'bob', id: `${prefix}-${n}`, kind: 'note', ...fields, body: true };
      text += `${JSON.stringify(frame)}\n${body}\n`;
    }
    alice.socket.send(text);
  }
  await promise;
}

/** A message that came, and how late it was by the clock of this machine, in milliseconds. */
export interface Came {
  id: string;
  lateMs: number;
}

/** Makes bob take and ack every message. `came` resolves when that many messages have come. */
export async function takeAll(bob: WireClient): Promise<{ came(messages: number): Promise<Came[]> }> {
  const taken: Came[] = [];
  let wanted = Number.POSITIVE_INFINITY;
  let over: () => void = () => {};
  bob.send({ type: 'subscribe', request_id: 's', window: 64 });
  await bob.next('subscribed');
  bob.socket.removeAllListeners('message');
  const onText = (text: string): void => {
    const now = Date.now();
    const seqs: number[] = [];
    for (const [, id, seq, createdAt] of text.matchAll(
      /"type":"message","id":"([^"]*)","seq":(\d+),.*?"created_at":(\d+)/g,
    )) {
      seqs.push(Number(seq));
      taken.push({ id: id!, lateMs: now - Number(createdAt) });
    }
    if (seqs.length > 0) bob.socket.send(`${JSON.stringify({ type: 'ack', seqs })}\n`);
    if (taken.length >= wanted) over();
  };
  // The messages that were pushed with the answer to subscribe are here already.
  for (const { type, ...frame } of bob.received)
    if (type === 'message') onText(JSON.stringify({ type, ...frame }));
  bob.socket.on('message', (data) => onText(String(data)));
  return {
    async came(messages) {
      const { promise, resolve } = Promise.withResolvers<void>();
      [wanted, over] = [messages, resolve];
      if (taken.length >= wanted) resolve();
      await promise;
      return taken.splice(0);
    },
  };
}

/** The figures of {@link runScheduled}. */
export interface ScheduledReport {
  /** Different messages that came. */
  came: number;
  /** Messages that came more than once. */
  repeated: number;
  /** True if all messages were stored, and the broker was back, before the first one was due. Otherwise lateness means nothing. */
  wasReady: boolean;
  earliestMs: number;
  p50LateMs: number;
  p99LateMs: number;
  mostLateMs: number;
}

/** Schedules messages over `spreadMs`, kills the broker before the first is due, and takes them from the next one. */
export async function runScheduled(
  dataDir: string,
  { messages, leadMs, spreadMs }: { messages: number; leadMs: number; spreadMs: number },
): Promise<ScheduledReport> {
  await using broker = await startLoadedBroker(dataDir);
  const dueFrom = Date.now() + leadMs;
  {
    await using alice = await broker.connect('alice');
    // The times are no multiples of the order, as if they had been chosen by many.
    const place = (n: number): number => ((n * 7919) % messages) / messages;
    await sendAll(alice, 'm', messages, (n) => Math.ceil(dueFrom - Date.now() + place(n) * spreadMs));
  }
  await broker.killAndRestart();
  await using bob = await broker.connect('bob');
  const { came: comeAll } = await takeAll(bob);
  const wasReady = Date.now() <= dueFrom;
  const taken = await comeAll(messages);
  const late = taken.map(({ lateMs }) => lateMs).sort((a, b) => a - b);
  const at = (part: number): number => late[Math.min(late.length - 1, Math.floor(late.length * part))]!;
  const came = new Set(taken.map(({ id }) => id)).size;
  const repeated = taken.length - came;
  const lateness = { earliestMs: at(0), p50LateMs: at(0.5), p99LateMs: at(0.99), mostLateMs: at(1) };
  return { came, repeated, wasReady, ...lateness };
}

/** Processor time of the broker for one message, in microseconds. */
export interface Costs {
  /** The cost of a plain message, from its sending to its ack. */
  plain: number;
  /** The cost of a scheduled message, from the moment when it is due to its ack. */
  due: number;
  /** The cost of storing a scheduled message. */
  storing: number;
}

/** Measures the cost of messages, `rounds` times each, in turns, and returns the medians. */
export async function measureCosts(
  dataDir: string,
  { messages, rounds, leadMs }: { messages: number; rounds: number; leadMs: number },
): Promise<Costs> {
  await using broker = await startLoadedBroker(dataDir);
  await using alice = await broker.connect('alice');
  await using bob = await broker.connect('bob');
  const { came } = await takeAll(bob);
  const costOf = async (work: () => Promise<unknown>): Promise<number> => {
    const before = await broker.cpuMicros();
    await work();
    return ((await broker.cpuMicros()) - before) / messages;
  };
  const found: Costs[] = [];
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    const plain = await costOf(async () => {
      const all = came(messages);
      await sendAll(alice, `p${round}`, messages);
      await all;
    });
    const dueAt = Date.now() + leadMs;
    const storing = await costOf(() =>
      sendAll(alice, `s${round}`, messages, () => Math.ceil(dueAt - Date.now())),
    );
    if (Date.now() > dueAt) throw new Error('a message was due before the last one was stored: raise --lead');
    // The time that an idle broker uses until then is not a cost of the messages.
    await setTimeout(dueAt - 50 - Date.now());
    const due = await costOf(() => came(messages));
    if (round > 0) found.push({ plain, due, storing });
  }
  const median = (of: keyof Costs): number =>
    found.map((costs) => costs[of]).sort((a, b) => a - b)[Math.floor(found.length / 2)]!;
  return { plain: median('plain'), due: median('due'), storing: median('storing') };
}
