import type { CallRecord, CallRecordOutcome } from '@signalbox/protocol';
import type { CallKey, JournalEntry } from '../journal/journal.ts';

/** Whose call it is, and of what. */
export interface CallName extends CallKey {
  readonly role: string;
  readonly tool: string;
}

/** A call on its way through this process. */
export interface OpenCall {
  /** It was its turn. */
  running(server: string | undefined): void;
  /** It has ended; `text` is the JSON of its reply. */
  ended(outcome: CallRecordOutcome, text: string): void;
  /** It was not run, and will be by somebody else. */
  dropped(): void;
}

/** `left`: told when it has ended or was dropped. */
export interface BookPorts {
  now: () => number;
  left: (call: BookedCall) => void;
}

/** One call, from its request to when it is forgotten. */
export class BookedCall implements OpenCall {
  readonly name: CallName;
  readonly #ports: BookPorts;
  readonly #receivedAt: number;
  #startedAt: number | undefined;
  #server: string | undefined;
  #isRunning = false;
  #finishedAt: number | undefined;
  /** Once it has ended. */
  outcome: CallRecordOutcome | undefined;
  /** Of its reply, as long as that is kept. */
  text: string | undefined;

  constructor(name: CallName, earlier: JournalEntry | undefined, ports: BookPorts) {
    this.name = name;
    this.#ports = ports;
    this.#receivedAt = earlier?.receivedAt ?? ports.now();
    this.#startedAt = earlier?.startedAt;
    this.#server = earlier?.server;
  }

  is({ agent, requestId }: CallKey): boolean {
    return this.name.requestId === requestId && this.name.agent === agent;
  }

  running(server: string | undefined): void {
    this.#isRunning = true;
    this.#startedAt = this.#ports.now();
    this.#server = server ?? this.#server;
  }

  ended(outcome: CallRecordOutcome, text: string): void {
    this.outcome = outcome;
    this.text = text;
    this.#finishedAt = this.#ports.now();
    this.#ports.left(this);
  }

  dropped(): void {
    this.#ports.left(this);
  }

  get state(): 'queued' | 'running' {
    return this.#isRunning ? 'running' : 'queued';
  }

  record(): CallRecord {
    const { agent, requestId, role, tool } = this.name;
    const { outcome } = this;
    return {
      request_id: requestId,
      agent,
      role,
      tool,
      state: outcome === undefined ? this.state : 'finished',
      received_at: this.#receivedAt,
      ...(this.#startedAt !== undefined && { started_at: this.#startedAt }),
      ...(this.#server && { server: this.#server }),
      ...(this.#finishedAt !== undefined && { finished_at: this.#finishedAt }),
      ...(outcome !== undefined && { outcome }),
    };
  }
}
