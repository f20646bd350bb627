/**
 * A change of a hosted server that its operator should be able to find later. It is reported once for each change of the configuration,
 * spawn, reload, or instance that used up its restarts, so that no server and no caller can cause a flood.
 */
export interface ServerEvent {
  server: string;
  /** The instance, if the server has several. */
  instance?: string;
  /**
   * `ejected`: it crashed or failed to start too often, or its command is missing. `refused`: it is a worker of Signalbox. `needs_auth`: a
   * person has to sign in. `restored`: it is ready after one of these. `signed_in`: it is ready with its sign-in, for the first time since
   * it was added or reloaded. `pinned`: its definitions of one kind were seen for the first time, and pinned.
   */
  change:
    | 'added'
    | 'removed'
    | 'changed'
    | 'ejected'
    | 'refused'
    | 'needs_auth'
    | 'restored'
    | 'signed_in'
    | 'pinned';
  /** The reason for an ejection or a missing sign-in, or the pinned definitions; without secrets. */
  reason?: string;
}

/** The most events that are kept. */
const maxKept = 1000;

/** Passes the events of servers to its listeners. A bounded number of events before the first listener is kept for it. */
export class ServerEvents {
  readonly #listeners = new Set<(event: ServerEvent) => void>();
  #kept: ServerEvent[] | undefined = [];

  /** Passes an event to the listeners. */
  tell(event: ServerEvent): void {
    if (this.#kept && this.#kept.length < maxKept) this.#kept.push(event);
    for (const listener of [...this.#listeners]) listener(event);
  }

  /** Calls `listener` with each event. Returns a function that removes the listener. */
  on(listener: (event: ServerEvent) => void): () => void {
    this.#listeners.add(listener);
    const kept = this.#kept ?? [];
    this.#kept = undefined;
    for (const event of kept) listener(event);
    return () => this.#listeners.delete(listener);
  }
}
