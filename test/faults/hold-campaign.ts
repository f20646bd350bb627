import { setTimeout as delay } from 'node:timers/promises';
import { type BrokerClient, connectBroker } from '@signalbox/client';
import { listHolds } from '@signalbox/client/operator';
import { type CounterLine, readCounter } from '@signalbox/testing';
import { type Fleet, startFleet } from './fleet.ts';
import { Ledger } from './ledger.ts';
import { newId } from './new-id.ts';
import { disorderedOf } from './order.ts';
import { seededRandom, type Victim } from './plan.ts';
import type { CallOrder, FromWorker } from './process-messages.ts';
import { type Reader, startReader } from './reader.ts';

/** The findings of a campaign of holds. Each list is empty if the promises were kept. */
export interface HoldReport {
  rounds: number;
  kills: number;
  /** Calls and notes that were given up under a hold. */
  calls: number;
  notes: number;
  /** Messages that a held agent was pushed after `hold` had answered. */
  pushed: string[];
  /** Calls that were made under a hold. */
  started: string[];
  /** Notes with a receipt that did not come after the release, and calls without an end. */
  lost: string[];
  /** Unsafe calls that were made twice, and calls that ended twice. */
  doubled: string[];
  /** Notes that came before one that was sent earlier. */
  disordered: string[];
  /** The last words on standard error of each process that ended without being killed. */
  crashes: string[];
}

const held = 'worker';
const deadlineMs = 30_000;
const longestWaitMs = 60;

/**
 * Places holds and releases them under load, `rounds` times, and kills broker and orchestrator at moments that the seed decides. The agents
 * of one role are held: workers that call tools, and one that reads its mail.
 */
export async function runHoldCampaign({
  rounds,
  seed,
}: {
  rounds: number;
  seed: number;
}): Promise<HoldReport> {
  const ledger = new Ledger();
  const crashes: string[] = [];
  let kills = 0;
  await using fleet = await startFleet(
    { workers: 2 },
    {
      onDeath: ({ victim, end, stderr }) => {
        kills++;
        if (end.signal !== 'SIGKILL')
          crashes.push(`${victim} ended with ${end.code ?? end.signal}: ${stderr}`);
      },
      onWorker: (_, message: FromWorker) => {
        if ('ended' in message) ledger.ended(message.ended, message.end);
      },
    },
  );
  await using people = await connectPeople(fleet);
  const campaign = new HoldCampaign(fleet, ledger, people, seededRandom(seed));
  for (let round = 0; round < rounds; round++) await campaign.round();
  const { pushed, started, sent } = campaign;
  await people.reader.came(sent, deadlineMs);
  const runs = Map.groupBy(
    readCounter(fleet.counterFile).filter(({ tool, at }) => tool !== 'echo' && at === 'start'),
    labelOf,
  );
  const twice = [...runs].flatMap(([label, lines]) => (lines.length > 1 ? [label] : []));
  const silent = [...ledger.calls.values()].flatMap(({ id, state }) => (state === 'ended' ? [] : [id]));
  return {
    ...{ rounds, kills, calls: ledger.calls.size, notes: sent.length, pushed, started, crashes },
    lost: [...sent.filter((id) => !people.reader.ids.includes(id)), ...silent],
    doubled: ledger.endedTwice > 0 ? [...twice, `${ledger.endedTwice} calls ended twice`] : twice,
    disordered: disorderedOf(people.reader.ids, sent),
  };
}

/** Returns true if every promise was kept and the campaign tried something. */
export function holdsPassed({
  kills,
  pushed,
  started,
  lost,
  doubled,
  disordered,
  crashes,
}: HoldReport): boolean {
  return kills > 0 && [pushed, started, lost, doubled, disordered, crashes].every((ids) => ids.length === 0);
}

/** The clients of the campaign's own process. */
interface People extends AsyncDisposable {
  operator: BrokerClient;
  /** An agent that no hold is on, with an inbox. */
  free: { client: BrokerClient; reader: Reader };
  /** The messages that the broker pushes to a held agent. */
  reader: Reader;
}

class HoldCampaign {
  readonly pushed: string[] = [];
  readonly started: string[] = [];
  /** The notes to the held reader that have a receipt, in the order in which they were sent. */
  readonly sent: string[] = [];
  readonly #fleet: Fleet;
  readonly #ledger: Ledger;
  readonly #people: People;
  readonly #random: () => number;

  constructor(fleet: Fleet, ledger: Ledger, people: People, random: () => number) {
    this.#fleet = fleet;
    this.#ledger = ledger;
    this.#people = people;
    this.#random = random;
  }

  async round(): Promise<void> {
    const { operator, reader, free } = this.#people;
    await this.#fleet.up();
    this.#order(2);
    const load = this.#notes(10);
    await this.#moment();
    await this.#surely(async () => {
      if ((await listHolds(operator)).length === 0)
        await operator.admin('hold', { on: 'role', name: held, reason: 'a campaign' });
    });
    await reader.caughtUp();
    const before = reader.ids.length;
    const heldCalls = this.#order(3);
    const [, moreNotes] = [await load, this.#notes(10)];
    for (const victim of this.#victims()) {
      await this.#moment();
      this.#fleet.kill(victim, '');
    }
    await moreNotes;
    await this.#fleet.up();
    // Nobody holds these two agents. When they have been served, the broker had time to send held messages by mistake.
    await this.#surely(() => callEcho(operator));
    const probe = await this.#noteTo(free.client, 'free');
    await free.reader.came([probe], deadlineMs);
    await reader.caughtUp();
    this.pushed.push(...reader.ids.slice(before));
    const ran = new Set(readCounter(this.#fleet.counterFile).map(labelOf));
    this.started.push(...heldCalls.filter((id) => ran.has(id)));
    if (this.#random() < 0.5) this.#fleet.kill(this.#random() < 0.5 ? 'broker' : 'orchestrator', '');
    await this.#surely(async () => {
      const ids = (await listHolds(operator)).map(({ id }) => id);
      if (ids.length > 0) await operator.admin('release', { ids });
    });
    await this.#ledger.quiet();
  }

  #victims(): Victim[] {
    const victims: Victim[] = ['broker', 'orchestrator'];
    return this.#random() < 0.5 ? victims : victims.reverse();
  }

  async #moment(): Promise<void> {
    await delay(this.#random() * longestWaitMs);
  }

  /** Makes each worker call tools. Returns the ids of the calls. */
  #order(each: number): string[] {
    const tools = ['count', 'slow', 'echo'] as const;
    return this.#fleet.workers.flatMap((worker) => {
      const calls = Array.from({ length: each }, (_, n): CallOrder => {
        const tool = tools[n % tools.length]!;
        const args = tool === 'slow' ? { ms: 20 } : {};
        return { id: newId(), tool, arguments: args, timeoutMs: deadlineMs };
      });
      for (const order of calls) this.#ledger.open({ ...order, worker });
      void this.#fleet.tell(worker, { calls });
      return calls.map(({ id }) => id);
    });
  }

  /** Sends notes to the held reader, one after the other. */
  async #notes(count: number): Promise<void> {
    for (let n = 0; n < count; n++) this.sent.push(await this.#noteTo(this.#people.free.client, 'reader'));
  }

  async #noteTo(client: BrokerClient, to: string): Promise<string> {
    const id = newId();
    await this.#surely(() => client.deliver({ to, kind: 'note', id }));
    return id;
  }

  /** Tries an action until it succeeds, also when broker or orchestrator die. */
  async #surely(action: () => Promise<unknown>): Promise<void> {
    const until = performance.now() + deadlineMs;
    for (;;) {
      try {
        await action();
        return;
      } catch (error) {
        if (performance.now() > until) throw error;
        await this.#fleet.up();
        await Promise.all([connected(this.#people.operator), connected(this.#people.free.client)]);
      }
    }
  }
}

/** Resolves when a client is connected. */
async function connected(client: BrokerClient): Promise<void> {
  if (client.state.name === 'ready') return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const unsubscribe = client.onState(({ name }) => name === 'ready' && resolve());
  await promise;
  unsubscribe();
}

async function connectPeople({ url, operatorToken: token }: Fleet): Promise<People> {
  await using starting = new AsyncDisposableStack();
  const connect = async (agent: string, own: string) =>
    starting.use(await connectBroker({ url, token: own, agent }));
  const operator = await connect('operator#holds', token);
  const as = async (agent: string, role: string) =>
    connect(agent, (await operator.admin('token_issue', { agent, role })).token);
  const reader = await startReader(await as('reader', held));
  const client = await as('free', 'free');
  const free = { client, reader: await startReader(client) };
  const started = starting.move();
  return { operator, free, reader, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

async function callEcho(operator: BrokerClient): Promise<void> {
  const body = { op: 'call', tool: 'mcp_counter__echo', arguments: { label: newId() } };
  const outcome = await operator.request('orchestrator', 'mcp_request', body, { timeoutMs: 5000 });
  if (outcome.status !== 'completed') throw new Error(`the call ended ${outcome.status}`);
}

function labelOf({ args }: CounterLine): string {
  return String(args.label);
}
