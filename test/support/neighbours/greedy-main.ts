import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';
import { connectWire, type WireClient } from '@signalbox/testing';
import { floods } from './floods.ts';
import type { GreedyNews, GreedyOrder, GreedyReport } from './neighbours.ts';

/**
 * A client in a process of its own that sends as fast as its sockets take it, and reads every answer. Its orders come over its
 * channel: a flood begins, until the next order ends it and is answered with what the broker said to it.
 */
const mostUnsent = 8 * 1024 * 1024;
let running:
  | { order: Required<GreedyOrder>; report: GreedyReport; sockets: Set<WireClient['socket']> }
  | undefined;

function tell(news: GreedyNews): void {
  process.send!(news);
}

async function begin(order: Required<GreedyOrder>): Promise<void> {
  const mine = {
    order,
    report: { sent: 0, answers: {}, closes: {} },
    sockets: new Set<WireClient['socket']>(),
  };
  running = mine;
  await Promise.all(Array.from({ length: order.connections }, (_, i) => connect(mine, i)));
  for (const socket of mine.sockets) void send(mine, socket);
}

async function connect(mine: NonNullable<typeof running>, i: number): Promise<void> {
  const { url, agent, token } = mine.order;
  const { socket, closed } = await connectWire(url, { agent: `${agent}#${i}`, token });
  socket.removeAllListeners('message');
  socket.on('message', (data: Buffer) => count(mine.report, data.toString('latin1')));
  mine.sockets.add(socket);
  void closed.then(({ code }) => {
    mine.sockets.delete(socket);
    mine.report.closes[code] = (mine.report.closes[code] ?? 0) + 1;
    if (mine === running) return reconnect(mine, i);
  });
}

async function reconnect(mine: NonNullable<typeof running>, i: number): Promise<void> {
  await turn();
  const before = new Set(mine.sockets);
  await connect(mine, i).catch(() => (mine === running ? reconnect(mine, i) : undefined));
  for (const socket of mine.sockets) if (!before.has(socket)) void send(mine, socket);
}

async function send(mine: NonNullable<typeof running>, socket: WireClient['socket']): Promise<void> {
  for (let n = 0; mine === running && socket.readyState === socket.OPEN; n++) {
    if (socket.bufferedAmount > mostUnsent) await pause(1);
    else {
      socket.send(floods[mine.order.flood](n));
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
  if ('flood' in order) return void begin(order as Required<GreedyOrder>);
  const ended = running!;
  running = undefined;
  for (const socket of ended.sockets) socket.terminate();
  tell({ report: ended.report });
});
process.on('disconnect', () => process.exit(0));
process.send!({});
