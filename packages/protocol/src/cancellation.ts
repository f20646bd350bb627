/** The part of an `AbortSignal` that cancels a call or a request: any object that has it can do that. */
export interface CancelSignal {
  readonly aborted: boolean;
  /** The reason why it was aborted. */
  readonly reason: unknown;
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/**
 * A `CancelSignal` with the means to abort it. It costs far less than an `AbortController`, and most calls are never cancelled (ADR 10).
 */
export class Cancellation implements CancelSignal {
  aborted = false;
  reason: unknown;
  #listeners: (() => void)[] | undefined;

  /** Calls the listeners. Only the first call counts. The default reason is that of an `AbortController`. */
  abort(reason: unknown = new DOMException('This operation was aborted', 'AbortError')): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    const listeners = this.#listeners ?? [];
    for (let next = listeners.shift(); next; next = listeners.shift()) next();
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    if (this.aborted) return;
    if (this.#listeners === undefined) this.#listeners = [listener];
    else this.#listeners.push(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const at = this.#listeners?.indexOf(listener) ?? -1;
    if (at >= 0) this.#listeners!.splice(at, 1);
  }
}

/** Returns an `AbortSignal` that aborts as the given signal does. */
export function abortSignalOf(signal: CancelSignal): AbortSignal {
  if (signal instanceof AbortSignal) return signal;
  const controller = new AbortController();
  const abort = () => controller.abort(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return controller.signal;
}
