import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';
import { protocolVersion } from '@signalbox/protocol';
import { connectWire, type WireClient } from '@signalbox/testing';
import { type FloodKind, floods } from './floods.ts';
import type { GreedyBegin, GreedyNews, GreedyOrder, GreedyReport, Hello } from './neighbours.ts';

/**
 * A client in a process of its own that floods a broker as fast as its sockets take it, and reads every answer. Its orders come over
 * its channel: a flood begins, until the next order ends it and is answered with what the broker said to it.
 */
const mostUnsent = 8 * 1024 * 1024;
interface Running {
  readonly order: GreedyBegin;
  readonly report: GreedyReport;
  readonly sockets: Set<WireClient['socket']>;
}

let running: Running | undefined;

function tell(news: GreedyNews): void {
  process.send!(news);
}

async function begin(order: GreedyBegin): Promise<void> {
  const mine: Running = { order, report: { sent: 0, answers: {}, closes: {} }, sockets: new Set() };
  running = mine;
  const { message, isIdle } = floods[order.flood];
  if (isIdle) return keepBusy(mine);
  if (!message) {
    for (const hello of order.hellos) void comeAndGo(mine, hello);
    return;
  }
  await Promise.all(order.hellos.map((hello) => connect(mine, hello)));
  for (const socket of mine.sockets) void send(mine, socket, message);
}

async function keepBusy(mine: Running): Promise<void> {
  while (mine === running) {
    const end = performance.now() + 20;
    while (performance.now() < end);
    await turn();
  }
}

/** Connects and leaves again as soon as the broker has answered. */
async function comeAndGo(mine: Running, hello: Hello): Promise<void> {
  while (mine === running) {
    const client = await connectWire(mine.order.url).catch(() => undefined);
    if (!client) continue;
    mine.sockets.add(client.socket);
    client.socket.on('message', (data: Buffer) => count(mine.report, data.toString('latin1')));
    client.send({ type: 'hello', protocol: protocolVersion, ...hello });
    mine.report.sent++;
    await client.next(['welcome', 'error']).catch(() => {});
    mine.sockets.delete(client.socket);
    await client[Symbol.asyncDispose]();
  }
}

async function connect(mine: Running, hello: Hello): Promise<void> {
  const { socket, closed } = await connectWire(mine.order.url, hello);
  socket.removeAllListeners('message');
  socket.on('message', (data: Buffer) => count(mine.report, data.toString('latin1')));
  mine.sockets.add(socket);
  void closed.then(({ code }) => {
    mine.sockets.delete(socket);
    mine.report.closes[code] = (mine.report.closes[code] ?? 0) + 1;
    if (mine === running) return reconnect(mine, hello);
  });
}

async function reconnect(mine: Running, hello: Hello): Promise<void> {
  await turn();
  const before = new Set(mine.sockets);
  await connect(mine, hello).catch(() => (mine === running ? reconnect(mine, hello) : undefined));
  const { message } = floods[mine.order.flood];
  for (const socket of mine.sockets) if (!before.has(socket)) void send(mine, socket, message!);
}

async function send(
  mine: Running,
  socket: WireClient['socket'],
  message: NonNullable<FloodKind['message']>,
): Promise<void> {
  for (let n = 0; mine === running && socket.readyState === socket.OPEN; n++) {
    if (socket.bufferedAmount > mostUnsent) await pause(1);
    else {
      socket.send(message(n));
      mine.report.sent++;
      await turn();
    }
  }
}

function count({ answers }: GreedyReport, text: string): void {
  for (const [, type, code] of text.matchAll(/\{"type":"(\w+)"(?:,"code":"(\w+)")?/g)) {
    const name = code ?? type!;
    if (answers[name] === undefined) tell({ answer: name });
    answers[name] = (answers[name] ?? 0) + 1;
  }
}

process.on('message', (order: GreedyOrder) => {
  if ('flood' in order) return void begin(order as GreedyBegin);
  const ended = running!;
  running = undefined;
  for (const socket of ended.sockets) socket.terminate();
  tell({ report: ended.report });
});
process.on('disconnect', () => process.exit(0));
process.send!({});
