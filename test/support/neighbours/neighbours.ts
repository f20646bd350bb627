import { readFile } from 'node:fs/promises';
import type { BrokerOptions } from '@signalbox/broker';
import { type Child, connectWire, startChild, tempDir, type WireClient } from '@signalbox/testing';
import { type Flood, floods } from './floods.ts';

/** The frames that a greedy client sent, and the answers of the broker by type, or by code if they are errors. */
export interface GreedyReport {
  /** WebSocket messages. */
  sent: number;
  answers: Record<string, number>;
  /** Connections that ended, by close code. */
  closes: Record<string, number>;
}

/** The address and the token in the `hello` of a connection. */
export interface Hello {
  agent: string;
  token: string;
}

/** An order to begin a flood over one connection for each `hello`. */
export interface GreedyBegin {
  flood: Flood;
  url: string;
  hellos: Hello[];
}

/** An order to begin a flood, or to end it if it is empty. */
export type GreedyOrder = GreedyBegin | Record<string, never>;

/** A message of the greedy process: an answer that it got for the first time, or its report after the end of a flood. */
export type GreedyNews = { answer: string } | { report: GreedyReport };

/** The results of the asks of an honest pair. The times are from the sending of an ask to its reply. */
export interface HonestReport {
  served: number;
  refused: number;
  p50Ms: number;
  p99Ms: number;
}

/** An honest pair and a greedy client on one broker, in three processes. Disposing it ends all of them. */
export interface Neighbours extends AsyncDisposable {
  readonly url: string;
  /** Issues a token and connects. */
  connect(agent: string, role?: string): Promise<WireClient>;
  token(agent: string, role?: string): Promise<string>;
  /** Returns the longest time in milliseconds for which the broker's event loop was held up since the last call. */
  heldUpMs(): Promise<number>;
  /** Lets the honest pair exchange so many asks and replies, one after the other, or as many as it can in `mostMs`. */
  ask(count: number, mostMs?: number): Promise<HonestReport>;
  /**
   * Lets it do the same while the greedy client floods the broker, and go on until the greedy client was given the answer `until`.
   */
  askDuring(
    flood: Flood,
    count: number,
    options?: { mostMs?: number; until?: string },
  ): Promise<{ honest: HonestReport; greedy: GreedyReport }>;
}

/** Starts a broker with limits of its own. Each flood comes from an agent of its own with so many connections, or several of them. */
export async function startNeighbours(
  options: Pick<BrokerOptions, 'limits' | 'roleLimits' | 'durability'> & { connections?: number } = {},
): Promise<Neighbours> {
  const { connections = 8, ...broker } = options;
  await using starting = new AsyncDisposableStack();
  const directory = starting.use(await tempDir());
  let reported = (_heldUpMs: number): void => {};
  const child = starting.use(
    await startChild<{ url: string; operatorTokenFile: string }>(
      new URL('../broker/monitored-broker-main.ts', import.meta.url),
      {
        args: [JSON.stringify({ dataDir: `${directory.path}/data`, durability: 'process', ...broker })],
        onMessage: (message) => reported((message as { heldUpMs: number }).heldUpMs),
      },
    ),
  );
  const { ready } = child;
  const { url } = ready;
  const secret = (await readFile(ready.operatorTokenFile, 'utf8')).trim();
  const operator = starting.use(await connectWire(url, { agent: 'operator', token: secret }));
  const issue = async (issuer: WireClient, params: { agent: string; role: string }): Promise<string> => {
    const request_id = `for-${params.agent}`;
    issuer.send({ type: 'admin', request_id, op: 'token_issue', params });
    const { result } = await issuer.next('admin_result', { request_id });
    return (result as { token: string }).token;
  };
  const token = (agent: string, role = 'worker'): Promise<string> => issue(operator, { agent, role });
  await token('bystander');
  let heard = (_news: GreedyNews): void => {};
  const greedy: Child<object> = starting.use(
    await startChild(new URL('./greedy-main.ts', import.meta.url), {
      onMessage: (news) => heard(news as GreedyNews),
    }),
  );
  const opened = starting.move();
  const connect = async (agent: string, role?: string): Promise<WireClient> =>
    opened.use(await connectWire(url, { agent, token: await token(agent, role) }));
  const hellosOf = async (flood: Flood, agent: string): Promise<Hello[]> => {
    const each = <T>(count: number, make: (i: number) => T): T[] =>
      Array.from({ length: count }, (_, i) => make(i));
    const ofOne = (one: string, secret: string): Hello[] =>
      each(connections, (i) => ({ agent: `${one}#${i}`, token: secret }));
    switch (floods[flood].tokens) {
      case 'wrong':
        return ofOne(agent, 'sbx_wrong');
      case 'minting': {
        const secret = await token('greedy-*');
        return each(connections, (i) => ({ agent: `${agent}-${i}`, token: secret }));
      }
      case 'of 16 children of one minting token': {
        const minter = { agent: `${agent}-minter`, token: await token(`${agent}-*`) };
        await using issuer = await connectWire(url, minter);
        const children = each(16, (i) => `${agent}-${i}`);
        const secrets = await Promise.all(
          children.map((child) => issue(issuer, { agent: child, role: 'worker' })),
        );
        return children.flatMap((child, i) => ofOne(child, secrets[i]!));
      }
      default:
        return ofOne(agent, await token(agent));
    }
  };
  const asker = await connect('asker');
  const server = await connect('server');
  for (const one of [asker, server]) {
    one.send({ type: 'subscribe', request_id: 's' });
    await one.next('subscribed');
  }
  let asked = 0;
  let floodCount = 0;
  const ask = async (
    count: number,
    mostMs = Number.POSITIVE_INFINITY,
    mayEnd = (): boolean => true,
  ): Promise<HonestReport> => {
    const times: number[] = [];
    const end = performance.now() + mostMs;
    let refused = 0;
    for (let i = 0; i < count || !mayEnd(); i++) {
      const start = performance.now();
      if (start > end) break;
      if (await exchange(asker, server, `ask-${++asked}`)) times.push(performance.now() - start);
      else refused++;
    }
    times.sort((a, b) => a - b);
    return { served: times.length, refused, p50Ms: quantile(times, 0.5), p99Ms: quantile(times, 0.99) };
  };
  return {
    url,
    token,
    connect,
    heldUpMs: () =>
      new Promise((resolve) => {
        reported = resolve;
        child.send({ heldUp: true });
      }),
    ask: (count, mostMs) => ask(count, mostMs),
    async askDuring(flood, count, { mostMs, until } = {}) {
      const agent = `greedy-${++floodCount}`;
      const order: GreedyOrder = { flood, url, hellos: await hellosOf(flood, agent) };
      let isOver = until === undefined;
      const report = new Promise<GreedyReport>((resolve) => {
        heard = (news) => {
          if ('report' in news) resolve(news.report);
          else if (news.answer === until) isOver = true;
        };
      });
      greedy.send(order);
      const honest = await ask(count, mostMs, () => isOver);
      greedy.send({});
      return { honest, greedy: await report };
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Exchanges one ask and its reply. Returns false if the broker refused one of them. */
export async function exchange(asker: WireClient, server: WireClient, id: string): Promise<boolean> {
  asker.send({ type: 'deliver', to: 'server', id, kind: 'ask' }, '{}');
  const receipt = await asker.next(['delivered', 'error'], { id });
  if (receipt.type === 'error') return false;
  const { seq } = await server.next('message', { id });
  const reply = `re:${id}`;
  const header = { type: 'deliver', to: 'asker', id: reply, kind: 'reply', correlation_id: id, settles: seq };
  server.send(header, '{}');
  if ((await server.next(['delivered', 'error'], { id: reply })).type === 'error') return false;
  const { seq: replySeq } = await asker.next('message', { id: reply });
  asker.send({ type: 'ack', seqs: [replySeq] });
  return true;
}

function quantile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}
