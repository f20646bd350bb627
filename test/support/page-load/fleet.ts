import { type Child, startChild } from '@signalbox/testing';

/** The settings with which the process of a fleet is started. */
export interface FleetSetup {
  url: string;
  /** A directory for the files of the orchestrator. */
  directory: string;
  /** The tokens of the agents `w-1`, `w-2` and so on. */
  tokens: string[];
  orchestratorToken: string;
}

/** An order to the process: to make dead letters, or so much traffic from now on. */
export type FleetOrder =
  | { what: 'dead-letters'; count: number }
  | { what: 'traffic'; eventsPerSecond: number; deadLetterEveryMs: number };

/** The counts of what the agents have sent so far. */
export interface FleetCounts {
  notes: number;
  asks: number;
  calls: number;
  deadLetters: number;
  /** Requests that had no good answer. */
  failures: number;
}

/** Agents over connections of their own, and an orchestrator, in a process beside the broker. */
export interface Fleet extends AsyncDisposable {
  readonly pid: number;
  /** Makes this many dead letters: eight inboxes have most of them, and all agents have some. */
  makeDeadLetters(count: number): Promise<void>;
  /** Makes this many events a second from now on: notes, asks with replies and tool calls, and sometimes a dead letter. */
  traffic(eventsPerSecond: number, deadLetterEveryMs?: number): Promise<FleetCounts>;
}

/** Starts the agents, and waits until all of them are connected. */
export async function startFleet(setup: FleetSetup): Promise<Fleet> {
  const waiting: ((answer: unknown) => void)[] = [];
  const child: Child<object> = await startChild(new URL('./fleet-main.ts', import.meta.url), {
    onMessage: (message) => waiting.shift()?.((message as { answer: unknown }).answer),
  });
  const obey = (order: object): Promise<unknown> =>
    new Promise((resolve, reject) => {
      waiting.push(resolve);
      void child.exited.then(() => reject(new Error(`the fleet has ended: ${child.stderr()}`)));
      child.send(order);
    });
  await obey(setup);
  return {
    pid: child.pid,
    makeDeadLetters: async (count) => void (await obey({ what: 'dead-letters', count })),
    traffic: async (eventsPerSecond, deadLetterEveryMs = 10_000) =>
      (await obey({ what: 'traffic', eventsPerSecond, deadLetterEveryMs })) as FleetCounts,
    [Symbol.asyncDispose]: async () => {
      await child.end('SIGTERM');
    },
  };
}
