import type { AdminResult } from '@signalbox/protocol';
import type { BrokerTalk } from '../cluster/broker-talk.ts';

/** An agent whose program ended with a failure. */
export type FailedProgram = AdminResult<'failures'>['agents'][number];

const keptMs = 24 * 3_600_000;
const maxAgents = 1000;

/** The dependencies of {@link FailedPrograms}. */
export interface FailedProgramsDeps {
  talk: Pick<BrokerTalk, 'note' | 'on'>;
  /** Returns epoch milliseconds. */
  now: () => number;
  /** Called if other brokers could not be told. */
  onError: (error: unknown) => void;
}

/** Remembers the agents whose programs ended with a failure, until they are back. The brokers on one store tell each other. */
export class FailedPrograms {
  readonly #byAgent = new Map<string, FailedProgram>();
  readonly #deps: FailedProgramsDeps;

  constructor(deps: FailedProgramsDeps) {
    this.#deps = deps;
    deps.talk.on('program_failed', (failed: FailedProgram) => this.#add(failed));
    deps.talk.on('program_back', ({ agent, since }: { agent: string; since: number }) =>
      this.#remove(agent, since),
    );
  }

  /** Notes that the program of an agent has failed now. */
  failed(agent: string, role: string, reason: string): void {
    const failed = { agent, role, failed_at: this.#deps.now(), reason };
    this.#add(failed);
    this.#tell('program_failed', failed);
  }

  /** Notes that a connection of an agent works, which began at `since`. A program that failed before is back. */
  works(agent: string, since: number): void {
    if (this.#remove(agent, since)) this.#tell('program_back', { agent, since });
  }

  /** Returns the failure of an agent's program. */
  of(agent: string): FailedProgram | undefined {
    return this.list().find((failed) => failed.agent === agent);
  }

  /** Lists the agents, with the newest failure at the end. */
  list(): FailedProgram[] {
    const oldest = this.#deps.now() - keptMs;
    return [...this.#byAgent.values()].filter(({ failed_at }) => failed_at > oldest);
  }

  #add(failed: FailedProgram): void {
    this.#byAgent.delete(failed.agent);
    this.#byAgent.set(failed.agent, failed);
    if (this.#byAgent.size <= maxAgents) return;
    const [oldest] = this.#byAgent.keys();
    this.#byAgent.delete(oldest!);
  }

  #remove(agent: string, since: number): boolean {
    const failed = this.#byAgent.get(agent);
    return failed !== undefined && failed.failed_at <= since && this.#byAgent.delete(agent);
  }

  #tell(kind: string, about: unknown): void {
    this.#deps.talk.note(kind, about).catch(this.#deps.onError);
  }
}
