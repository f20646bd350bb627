import { deepStrictEqual } from 'node:assert/strict';
import { parseArgs } from 'node:util';
import {
  connectWire,
  lastCommit,
  startTestBroker,
  type TestBroker,
  type WireClient,
} from '@signalbox/testing';
import { seededRandom } from '../faults/plan.ts';
import { keyOf, runKilledMembers } from '../support/groups/killed-members.ts';

/**
 * Groups under load: many tasks while members are killed, a message to 1,000 members, and how many messages a second eight members of a
 * group get, compared with one consumer of one inbox. Exits with an error if a task is not settled exactly once, or out of its key's order.
 */
const { values } = parseArgs({
  options: {
    tasks: { type: 'string' },
    seed: { type: 'string' },
    messages: { type: 'string' },
    rounds: { type: 'string' },
    window: { type: 'string' },
  },
});
const tasks = Number(values.tasks ?? 10_000);
const seed = Number(values.seed ?? 1);
const messages = Number(values.messages ?? 20_000);
const rounds = Number(values.rounds ?? 5);
const window = Number(values.window ?? 64);
const print = (line: string): void => void process.stdout.write(`${line}\n`);

const most = 1_000_000;
const limits = {
  // A task may be unlucky more often than five times.
  message: { attempts: 100 },
  rates: {
    messages: most,
    messagesBurst: most,
    bytes: 2 ** 30,
    bytesBurst: 2 ** 30,
    frames: most,
    framesBurst: most,
  },
  sender: { messages: most },
  senderToRecipient: { messages: most },
  recipient: { messages: most },
  inbox: { messages: most },
};
const startBroker = (): Promise<TestBroker> => startTestBroker({ limits, roles: ['crawler'] });

async function killMembers(): Promise<void> {
  await using broker = await startBroker();
  const keys = 50;
  const report = await runKilledMembers(broker, {
    ...{ tasks, members: 8, keys, window: 4, taskMs: 10, everyMs: 300 },
    random: seededRandom(seed),
  });
  const done = report.replies.map(({ id }) => Number(id.slice(1)));
  deepStrictEqual(
    done.toSorted((a, b) => a - b),
    Array.from({ length: tasks }, (_, task) => task),
  );
  for (let key = 0; key < keys; key++) {
    const ofKey = done.filter((task) => keyOf(task, keys) === `k${key}`);
    deepStrictEqual(
      ofKey,
      ofKey.toSorted((a, b) => a - b),
    );
  }
  const { killed, left, joined, ms } = report;
  print(
    `${tasks} tasks, half of them with one of ${keys} keys: each settled once, keys in order; ${killed} members killed, ${left} left, ${joined} joined; ${(ms / 1000).toFixed(1)} s`,
  );
}

async function sendToAll(): Promise<void> {
  await using broker = await startBroker();
  const members = 1000;
  for (let n = 0; n < members; n++) await broker.token(`w${n}`, 'crawler');
  await using alice = await connect(broker, 'alice');
  const before = await lastCommit(broker.dataDir);
  const began = performance.now();
  const all = { type: 'deliver', to: 'role:crawler', all: true, kind: 'note' };
  alice.send({ ...all, id: 'news' }, '"stop"');
  deepStrictEqual((await alice.next('delivered')).members, members);
  const ms = performance.now() - began;
  deepStrictEqual((await lastCommit(broker.dataDir)) - before, 1);
  await broker.token('one-more', 'crawler');
  alice.send({ ...all, id: 'more' }, '"stop"');
  deepStrictEqual((await alice.next(['delivered', 'error'])).code, 'bad_frame');
  print(
    `a message to ${members} members: one commit, receipt after ${ms.toFixed(0)} ms; to ${members + 1}: refused`,
  );
}

async function connect(broker: TestBroker, address: string, role = 'worker'): Promise<WireClient> {
  return connectWire(broker.url, { agent: address, token: await broker.token(address.split('#')[0]!, role) });
}

/** Messages a second that consumers get and ack of a backlog and of what is sent meanwhile. */
async function rate(to: string, consumers: WireClient[], alice: WireClient, round: number): Promise<number> {
  let acked = 0;
  const over = Promise.withResolvers<void>();
  for (const { socket } of consumers) {
    socket.removeAllListeners('message');
    socket.on('message', (data) => {
      const seqs = [...String(data).matchAll(/"type":"message","id":"[^"]*","seq":(\d+)/g)].map(([, seq]) =>
        Number(seq),
      );
      if (seqs.length === 0) return;
      socket.send(`${JSON.stringify({ type: 'ack', seqs })}\n`);
      acked += seqs.length;
      if (acked >= messages) over.resolve();
    });
  }
  const body = JSON.stringify('x'.repeat(300));
  const began = performance.now();
  for (let n = 0; n < messages; n += 100) {
    let text = '';
    for (let i = n; i < n + 100; i++)
      text += `${JSON.stringify({ type: 'deliver', to, id: `r${round}-${i}`, kind: 'task', body: true })}\n${body}\n`;
    alice.socket.send(text);
  }
  await over.promise;
  return messages / ((performance.now() - began) / 1000);
}

async function compareRates(): Promise<void> {
  const rates: { one: number; group: number }[] = [];
  for (let round = 0; round < rounds; round++) {
    const result = { one: 0, group: 0 };
    for (const which of round % 2 === 0 ? (['one', 'group'] as const) : (['group', 'one'] as const)) {
      await using broker = await startBroker();
      await using alice = await connect(broker, 'alice');
      const consumers: WireClient[] = [];
      for (let n = 0; n < (which === 'one' ? 1 : 8); n++) {
        const address = which === 'one' ? 'crawler' : `crawler-${n}#grp-1`;
        const client = await connect(broker, address, 'crawler');
        const shared = { address: 'role:crawler', shared: true, ack_deadline_ms: 60_000 };
        client.send({ type: 'subscribe', request_id: 's', window, ...(which === 'group' && shared) });
        await client.next('subscribed');
        consumers.push(client);
      }
      result[which] = await rate(which === 'one' ? 'crawler' : 'role:crawler', consumers, alice, round);
      for (const client of consumers) await client[Symbol.asyncDispose]();
    }
    rates.push(result);
    print(
      `round ${round + 1}: one consumer ${Math.round(result.one)}/s, eight members ${Math.round(result.group)}/s`,
    );
  }
  const median = (figures: number[]): number =>
    figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)]!;
  const [one, group] = [median(rates.map((r) => r.one)), median(rates.map((r) => r.group))];
  print(
    `median of ${rounds}, window ${window}: one consumer ${Math.round(one)}/s, eight members ${Math.round(group)}/s, ${(group / one).toFixed(2)} times as many`,
  );
}

await sendToAll();
await compareRates();
await killMembers();
