import type { McpProxyExecutor } from '@signalbox/worker';
import { seededRandom } from '../../faults/plan.ts';
import type { FleetCounts, FleetOrder } from './fleet.ts';
import type { FleetAgent } from './fleet-agent.ts';

/** The number of events of a tail for a note, for an ask with its reply, and for a tool call. */
const events = { note: 3, ask: 6, call: 8 };
const tickMs = 50;

/** The share of events that each has. Notes have the rest. */
const shares = { ask: 0.24, call: 0.12 };

/** Sends messages at a steady pace until it is disposed. */
export function startTraffic(
  { eventsPerSecond, deadLetterEveryMs }: Extract<FleetOrder, { what: 'traffic' }>,
  deps: {
    agents: readonly FleetAgent[];
    executors: readonly McpProxyExecutor[];
    counts: FleetCounts;
  },
): Disposable {
  const { agents, executors, counts } = deps;
  const random = seededRandom(1);
  const anybody = (): FleetAgent => agents[Math.floor(random() * agents.length)]!;
  const due = { note: 0, ask: 0, call: 0, announce: 0 };
  let announced = 0;
  const perTick = (eventsPerSecond * tickMs) / 1000;
  const timer = setInterval(() => {
    due.ask += (perTick * shares.ask) / events.ask;
    due.call += (perTick * shares.call) / events.call;
    due.note += (perTick * (1 - shares.ask - shares.call)) / events.note;
    due.announce += perTick / 20;
    for (; due.note >= 1; due.note--, counts.notes++)
      anybody().note(anybody(), 'the review of chapter 7 is done');
    for (; due.ask >= 1; due.ask--, counts.asks++) void anybody().ask(anybody());
    // The agents announce in turn, because each may announce something once a second.
    for (; due.announce >= 1; due.announce--)
      agents[++announced % agents.length]!.announce(`step ${announced} is done`);
    for (; due.call >= 1; due.call--, counts.calls++) {
      const executor = executors[counts.calls % executors.length]!;
      executor
        .execute({ name: 'mcp_counter__echo', arguments: { text: 'x' } })
        .catch(() => counts.failures++);
    }
  }, tickMs);
  const dead = setInterval(() => {
    counts.deadLetters++;
    void anybody().makeDeadLetter(anybody(), counts.deadLetters);
  }, deadLetterEveryMs);
  if (eventsPerSecond === 0) clearInterval(dead);
  return {
    [Symbol.dispose]: () => {
      clearInterval(timer);
      clearInterval(dead);
    },
  };
}
