import type { DeliverFrame, Message, SignalboxError } from '@signalbox/protocol';
import type { Deadline } from '../deadline-table.ts';
import type { Delivery, DeliveryOwner } from './delivery-table.ts';

/** A message with its body read as JSON (`undefined` if it has no body). */
export type ParsedMessage = Message & { json: unknown };

/**
 * How a request ended. `mayHaveRun` is false only where the recipient can't have got it.
 * `not_sent`: it never left this client. `rejected`: the broker refused it (`error.retryable` says if for now).
 * `undeliverable`: the broker gave it up, or the reply was no JSON (`bad_body`).
 * `connection_lost`: the client was closed for good, or the broker refused a repeat of a send whose fate is unknown.
 */
export type RequestOutcome =
  | { status: 'completed'; reply: ParsedMessage; mayHaveRun: true }
  | { status: 'not_sent' | 'rejected'; error: SignalboxError; mayHaveRun: false }
  | { status: 'undeliverable'; reason: string; mayHaveRun: boolean }
  | { status: 'cancelled' | 'timed_out' | 'connection_lost'; mayHaveRun: boolean; error?: SignalboxError };

export interface RequestOptions {
  /** Id of the request, unique per sender, so that it can be asked about after a crash; a new one unless given. */
  id?: string;
  /** One deadline for receipt, reply and ack together, in milliseconds from now. */
  timeoutMs: number;
  signal?: AbortSignal;
  /** Bodies of the recipient's `progress` messages. */
  onProgress?: (body: unknown) => void;
  /**
   * For harmless reads: never stored, and sent again after a reconnect or while nobody holds the recipient's inbox.
   * `no_consumer` is reported (as `rejected`) only when the deadline ends.
   */
  ephemeral?: boolean;
  /** `mcp_reply` for an `mcp_request`, else `reply`. */
  replyKind?: string;
}

/** Whose reply counts. */
export interface Expected {
  readonly agent: string;
  readonly replyKind: string;
}

/** The broker refused the request of a waiter; true has it tried again. */
export type OnRefused = (waiter: PendingRequest, error: SignalboxError, mayBeStored: boolean) => boolean;

/** One request until it ends. */
export class PendingRequest implements DeliveryOwner {
  readonly #onRefused: OnRefused;
  readonly frame: DeliverFrame;
  readonly options: RequestOptions;
  readonly expected: Expected;
  readonly resolve: (outcome: RequestOutcome) => void;
  isReceipted = false;
  refusal: SignalboxError | undefined;
  deliver: Delivery | undefined;
  deadline: Deadline | undefined;
  onAbort: (() => void) | undefined;

  constructor(
    onRefused: OnRefused,
    frame: DeliverFrame,
    options: RequestOptions,
    expected: Expected,
    resolve: (outcome: RequestOutcome) => void,
  ) {
    this.#onRefused = onRefused;
    this.frame = frame;
    this.options = options;
    this.expected = expected;
    this.resolve = resolve;
  }

  receipted(): void {
    this.isReceipted = true;
    this.refusal = undefined;
  }

  refused(error: SignalboxError, mayBeStored: boolean): boolean {
    return this.#onRefused(this, error, mayBeStored);
  }

  /** Whether the recipient may have it. */
  get hasLeft(): boolean {
    return this.isReceipted || this.deliver?.mayBeStored === true;
  }
}
