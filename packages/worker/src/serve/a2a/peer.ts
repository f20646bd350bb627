/** A message for an agent of another system. */
export interface PeerMessage {
  messageId: string;
  contextId: string;
  /** The task that it goes on with; without it a new one begins. */
  taskId?: string | undefined;
  /** A text as a text, anything else as data. */
  body: unknown;
}

/** A task as the agent told of it. */
export interface PeerTask {
  id: string;
  contextId: string;
  /** `asks`: it waits for another message of its sender. */
  state: 'works' | 'asks' | 'completed' | 'failed' | 'canceled' | 'rejected';
  /** Its answer, question or reason. Parts that are no text are their JSON. */
  text: string;
  /** Tells one question of a task from the next one; empty if the agent tells neither a time nor an id. */
  mark: string;
}

/** An agent of another system. Every function rejects with a {@link PeerError}, or with the reason of the signal. */
export interface Peer {
  /** Sends a message. Resolves at once with its task, or with the answer of an agent that makes none. */
  send(message: PeerMessage, signal: AbortSignal): Promise<PeerTask | { answer: string }>;
  /** Returns a task; `undefined` if the agent does not know it. */
  get(id: string, signal: AbortSignal): Promise<PeerTask | undefined>;
  /** Looks for the task of a message in its context; `undefined` if there is none, or if the agent lists no tasks. */
  find(message: { contextId: string; messageId: string }, signal: AbortSignal): Promise<PeerTask | undefined>;
  /** Resolves with false if the task has ended already, or is not known. */
  cancel(id: string, signal: AbortSignal): Promise<boolean>;
  /** Resolves with true when a stream tells that the task has ended or asks, and with false if no stream tells anything any more. */
  follow(id: string, onText: (text: string) => void, signal: AbortSignal): Promise<boolean>;
}

/**
 * The kind of a failure. `away`: the agent has not seen the request. `refused`: it takes no requests of ours now. `forbidden`: our settings
 * forbid the request, because of its card or a redirect. `lost`: it may have seen the request. `failed`: it failed on it. `final`: it will not take it another time either. `gone`:
 * it does not know the task that the message goes on with, or that task has ended.
 */
export type PeerErrorKind = 'away' | 'refused' | 'forbidden' | 'lost' | 'failed' | 'final' | 'gone';

/** A request to an agent of another system failed. The message names the agent's host. */
export class PeerError extends Error {
  readonly kind: PeerErrorKind;

  constructor(kind: PeerErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}
