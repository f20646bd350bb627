import { type CancelSignal, SignalboxError, type ToolCallError, toolCallError } from '@signalbox/protocol';
import { timerMs } from '@signalbox/serving';

/** Tells whether the caller cancelled the call. A signal that aborted because a deadline passed means a timeout instead. */
export function gaveUp({ aborted, reason }: CancelSignal): boolean {
  const isDeadline =
    (reason instanceof SignalboxError && reason.code === 'timed_out') ||
    (reason instanceof DOMException && reason.name === 'TimeoutError');
  return aborted && !isDeadline;
}

/** Returns the error for a caller that stops waiting while others still wait for the same answer. */
export function leftEarly(signal: CancelSignal): ToolCallError {
  return gaveUp(signal)
    ? toolCallError('cancelled', 'the call was cancelled', { mayHaveRun: true })
    : toolCallError('tool_timeout', 'the call took longer than its deadline allows', { mayHaveRun: true });
}

/** Returns a signal that also aborts, as a timeout, after `timeoutMs`. Disposing it stops the timer. */
export function withDeadline(signal: CancelSignal, timeoutMs: number): Disposable & { signal: AbortSignal } {
  const ended = new AbortController();
  const abort = () => ended.abort(signal.reason);
  const timer = setTimeout(
    () => ended.abort(new DOMException('the deadline has passed', 'TimeoutError')),
    timerMs(timeoutMs),
  );
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return {
    signal: ended.signal,
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    },
  };
}
