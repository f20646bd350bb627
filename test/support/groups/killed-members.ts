import { setTimeout as pause } from 'node:timers/promises';
import { type Child, connectWire, startChild, type TestBroker } from '@signalbox/testing';

/** The number of tasks, and the events that strike the members meanwhile. */
export interface KilledMembersOptions {
  tasks: number;
  members: number;
  /** Tasks that have one of these keys; the others have none. */
  keys: number;
  window: number;
  taskMs: number;
  /** The time in milliseconds between two kills, leaves or joins of a member. Without it there are none. */
  everyMs?: number;
  random: () => number;
}

/** The results. `replies` are those in the sender's inbox, in their order. */
export interface KilledMembersReport {
  replies: { id: string; by: string }[];
  killed: number;
  left: number;
  joined: number;
  ms: number;
}

const memberMain = new URL('./member-main.ts', import.meta.url);
const group = 'role:crawler';

/** Returns the key of a task: half of the tasks have one. */
export function keyOf(task: number, keys: number): string | undefined {
  return task % 2 === 0 ? `k${(task / 2) % keys}` : undefined;
}

/** Sends tasks to a group while its members are killed, leave and join, until every task has its reply. */
export async function runKilledMembers(
  broker: TestBroker,
  { tasks, members, keys, window, taskMs, everyMs, random }: KilledMembersOptions,
): Promise<KilledMembersReport> {
  const report: KilledMembersReport = { replies: [], killed: 0, left: 0, joined: 0, ms: 0 };
  const running = new Set<Child<unknown>>();
  let serial = 0;
  const join = async (): Promise<void> => {
    const agent = `crawler-${serial++}`;
    const args = [broker.url, agent, await broker.token(agent, 'crawler'), group, `${window}`, `${taskMs}`];
    running.add(await startChild(memberMain, { args }));
  };
  await Promise.all(Array.from({ length: members }, join));
  await using alice = await connectWire(broker.url, {
    agent: 'alice',
    token: await broker.token('alice', 'boss'),
  });
  alice.send({ type: 'subscribe', request_id: 's', window: 10_000 });
  await alice.next('subscribed');
  const began = performance.now();
  let isOver = false;
  const joining: Promise<void>[] = [];
  const trouble = (async () => {
    while (everyMs !== undefined && !isOver) {
      await pause(everyMs);
      const [victim] = [...running].sort(() => random() - 0.5);
      // Enough of them work to come to an end.
      if (!victim || isOver || running.size <= members / 2) continue;
      running.delete(victim);
      const isKilled = random() < 0.7;
      if (isKilled) report.killed++;
      else report.left++;
      await victim.end(isKilled ? 'SIGKILL' : 'SIGTERM');
      joining.push(join());
      report.joined++;
    }
    await Promise.all(joining);
  })();
  for (let task = 0; task < tasks; task++) {
    const key = keyOf(task, keys);
    alice.send(
      {
        type: 'deliver',
        to: group,
        id: `t${task}`,
        kind: 'task',
        ...(key !== undefined && { group_key: key }),
      },
      `${task}`,
    );
  }
  while (report.replies.length < tasks) {
    const { correlation_id: id, kind, seq, body } = await alice.next('message');
    if (kind !== 'reply') throw new Error(`${id} ended without a reply: ${body}`);
    report.replies.push({ id: `${id}`, by: JSON.parse(body!) });
    alice.send({ type: 'ack', seqs: [seq] });
  }
  report.ms = performance.now() - began;
  isOver = true;
  await trouble;
  await Promise.all([...running].map((child) => child.end('SIGKILL')));
  return report;
}
