import {
  type LaneCall,
  type LaneCallsFrame,
  type LaneOpenedFrame,
  laneLimits,
  replyIdOf,
  servesCalls,
} from '@signalbox/protocol';
import type { Consumer } from '../core/consumer.ts';
import type { Tail, TailMessage } from '../core/tail.ts';
import type { Caller } from '../frames/caller.ts';

/** An orchestrator that takes calls on lanes, and the path of its socket. */
interface Place {
  orchestrator: Caller;
  path: string;
}

/** A lane between a worker and an orchestrator, which are both connected. */
interface Lane {
  id: string;
  worker: Caller;
  orchestrator: Caller;
}

type Opened = NonNullable<LaneOpenedFrame['lane']>;

/** The dependencies of {@link Lanes}. */
export interface LanesDeps {
  /** Returns the consumer that holds an agent's inbox at this broker. */
  holderOf: (address: string) => Consumer | undefined;
  /** Tells whether the token of a caller is valid now. */
  isLive: (caller: Caller) => boolean;
  tail: Tail;
  /** Returns a new secret, which nobody can guess. */
  newSecret: () => string;
  /** Monotonic milliseconds. */
  monotonic: () => number;
}

/**
 * Introduces workers to orchestrators that take calls on sockets of their own, and tells the orchestrators each second that these lanes
 * stand. A lane ends with either connection to this broker.
 */
export class Lanes {
  readonly #deps: LanesDeps;
  /** The places by the connections of their orchestrators. */
  readonly #places = new Map<Consumer, Place>();
  readonly #lanes = new Map<string, Lane>();
  readonly #ofWorkers = new Map<Caller, Lane>();
  /** Lanes that ended since the last beat: the report of their last calls may be on its way. */
  #ended = new Map<string, Lane>();
  #endedBefore: ReadonlyMap<string, Lane> = new Map();
  /** The number of lanes of each agent. */
  readonly #ofAgents = new Map<string, number>();

  constructor(deps: LanesDeps) {
    this.#deps = deps;
  }

  /** Notes where an orchestrator takes calls; without a path it takes no more lanes. */
  serve(orchestrator: Caller, path: string | undefined): void {
    if (path === undefined) this.#places.delete(orchestrator.consumer);
    else this.#places.set(orchestrator.consumer, { orchestrator, path });
  }

  /**
   * Opens a lane from a worker to the orchestrator that holds an inbox, in place of the one that the worker's connection has. Returns
   * `undefined` if that orchestrator takes no calls here, or the agent has enough lanes.
   */
  open(worker: Caller, to: string): Opened | undefined {
    const { holderOf, newSecret } = this.#deps;
    this.#leave(worker, false);
    const { agent } = worker.sender;
    const holder = holderOf(to);
    const place = holder && this.#places.get(holder);
    const others = this.#ofAgents.get(agent) ?? 0;
    if (!place || others >= laneLimits.perAgent) return undefined;
    const { orchestrator, path } = place;
    const [id, ticket, proof] = [newSecret(), newSecret(), newSecret()];
    const lane = { id, worker, orchestrator };
    this.#lanes.set(id, lane);
    this.#ofWorkers.set(worker, lane);
    this.#ofAgents.set(agent, others + 1);
    const { rates, message } = worker.limits;
    const { messages, messagesBurst: burst } = rates;
    const limits = { messages, burst, bytes: message.bytes, ttl_ms: message.ttlMs };
    // Its first calls are to be seen, too.
    if (this.#deps.tail.isOn) this.#tell(orchestrator, []);
    orchestrator.consumer.send({ type: 'lane', lane: id, ticket, proof, from: worker.sender, limits });
    return { id, path, ticket, proof };
  }

  /** Tells whether a caller has a lane. */
  has(worker: Caller): boolean {
    return this.#ofWorkers.has(worker);
  }

  /** Ends the lanes of a connection that is over. */
  left(caller: Caller): void {
    this.#leave(caller, !this.#deps.isLive(caller));
    this.#places.delete(caller.consumer);
    if (!servesCalls(caller.sender.role)) return;
    for (const lane of [...this.#lanes.values()]) if (lane.orchestrator === caller) this.#remove(lane);
  }

  /** Tells each orchestrator with lanes that they stand. Call it each second. */
  beat(): void {
    this.#endedBefore = this.#ended;
    this.#ended = new Map();
    const orchestrators = new Set(Array.from(this.#lanes.values(), ({ orchestrator }) => orchestrator));
    for (const orchestrator of orchestrators) this.#tell(orchestrator, []);
  }

  /** Counts the calls that an orchestrator reports towards the rate of their workers, and tells those who follow the traffic. */
  report(orchestrator: Caller, { begun, calls = [] }: Pick<LaneCallsFrame, 'begun' | 'calls'>): void {
    const { tail, monotonic } = this.#deps;
    for (const { lane: id, calls: count } of begun)
      this.#laneOf(orchestrator, id)?.worker.budget.countMessages(count, monotonic());
    if (!tail.isOn) return;
    for (const call of calls) {
      const lane = this.#laneOf(orchestrator, call.lane);
      if (lane) this.#show(lane, call);
    }
  }

  #laneOf(orchestrator: Caller, id: string): Lane | undefined {
    const lane = this.#lanes.get(id) ?? this.#ended.get(id) ?? this.#endedBefore.get(id);
    return lane?.orchestrator === orchestrator ? lane : undefined;
  }

  /** Shows a call as the two messages that it would be without its lane. */
  #show({ worker, orchestrator }: Lane, { id, bytes, reply_bytes: replyBytes }: LaneCall): void {
    const { tail } = this.#deps;
    const inbox = orchestrator.sender.address;
    const request: TailMessage = { inbox, id, from: worker.sender, kind: 'mcp_request', size: bytes };
    if (replyBytes === undefined) {
      tail.report({ what: 'stored' }, undefined, request);
      tail.report({ what: 'delivered', attempt: 1 }, undefined, request);
      return;
    }
    const reply: TailMessage = {
      ...{ inbox: worker.sender.address, id: replyIdOf(id), from: orchestrator.sender },
      ...{ kind: 'mcp_reply', correlationId: id, size: replyBytes },
    };
    tail.report({ what: 'stored' }, undefined, reply);
    tail.report({ what: 'settled', outcome: 'acked' }, undefined, request);
    tail.report({ what: 'delivered', attempt: 1 }, undefined, reply);
    tail.report({ what: 'settled', outcome: 'acked' }, undefined, reply);
  }

  /** Ends the lane of a worker's connection. With `cancels`, its calls are cancelled. */
  #leave(worker: Caller, cancels: boolean): void {
    const lane = this.#ofWorkers.get(worker);
    if (!lane) return;
    this.#remove(lane);
    if (lane.orchestrator.isConnected) this.#tell(lane.orchestrator, [{ lane: lane.id, cancels }]);
  }

  #remove(lane: Lane): void {
    const { id, worker } = lane;
    const { agent } = worker.sender;
    this.#lanes.delete(id);
    this.#ended.set(id, lane);
    this.#ofWorkers.delete(worker);
    const left = (this.#ofAgents.get(agent) ?? 1) - 1;
    if (left > 0) this.#ofAgents.set(agent, left);
    else this.#ofAgents.delete(agent);
  }

  #tell(orchestrator: Caller, ended: { lane: string; cancels: boolean }[]): void {
    orchestrator.consumer.send({ type: 'lanes', ended, watched: this.#deps.tail.isOn });
  }
}
