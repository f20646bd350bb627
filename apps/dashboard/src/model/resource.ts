import { signal } from '@preact/signals';
import type { TailEvent } from '@signalbox/client/operator';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { ApiFailure, readAged } from '../api/request.ts';
import { serverTime } from './clock.ts';
import { commandsDone, pulse } from './live.ts';
import { canLook, signInEnded } from './sign-in.ts';

/** An answer of the API that the page reads again and again. The last answer stays while the next one is read, or can't be read. */
export interface Resource<Answer> {
  data: Answer | undefined;
  /** The reason why the last read failed. */
  error: string | undefined;
  /** The time at which `data` was read, in epoch milliseconds of the broker's machine. */
  at: number;
}

/**
 * The times after which an answer is read again, in milliseconds: soon after events, and at longer intervals without any. A sign-in that
 * gets no events reads more often.
 */
const paceMs = { atOnce: 0, afterEvents: 1500, idle: 10_000, untold: 3000 };

/**
 * Reads a path of the API while the component is shown and the page is visible, and again at once after each command of this page.
 * `follows` says after which events it is read again: all, none, or those for which it returns true. `againIn` returns the milliseconds
 * after which an answer should be read again, if that is soon.
 */
export function useResource<Answer>(
  path: string,
  params: Readonly<Record<string, string | number | undefined>> = {},
  {
    follows = true,
    againIn,
  }: {
    follows?: boolean | ((event: TailEvent) => boolean);
    againIn?: (answer: Answer) => number | undefined;
  } = {},
) {
  const question = JSON.stringify([path, params]);
  const state = useMemo(() => signal<Resource<Answer>>({ data: undefined, error: undefined, at: 0 }), [path]);
  const followed = useRef(follows);
  followed.current = follows;
  useEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    /** The newest time at which the answer may have changed; an event may have come right before the first read. */
    let changedAt = performance.now();
    let readAt = 0;
    let isReading = false;
    /** The wait before the read after the running one, in milliseconds: that one may miss events that come meanwhile. */
    let nextMs = paceMs.idle;
    const run = async (): Promise<void> => {
      clearTimeout(timer);
      if (isReading || abort.signal.aborted) return;
      isReading = true;
      nextMs = canLook.value ? paceMs.idle : paceMs.untold;
      readAt = performance.now();
      try {
        const { data, ageMs } = await readAged<Answer>(path, params, abort.signal);
        state.value = { data, error: undefined, at: serverTime() - ageMs };
        // Another page asked for this answer, perhaps before the newest events.
        if (followed.current !== false && changedAt > readAt - ageMs)
          nextMs = Math.min(nextMs, paceMs.afterEvents);
        nextMs = Math.min(nextMs, againIn?.(data) ?? nextMs);
      } catch (error) {
        if (abort.signal.aborted) return;
        if (error instanceof ApiFailure && error.status === 401) return signInEnded();
        state.value = { ...state.value, error: error instanceof Error ? error.message : String(error) };
      } finally {
        isReading = false;
      }
      plan(nextMs);
    };
    const readIn = (ms: number): void => {
      if (isReading) nextMs = Math.min(nextMs, ms);
      else plan(ms);
    };
    const plan = (ms: number): void => {
      clearTimeout(timer);
      if (!abort.signal.aborted && document.visibilityState === 'visible')
        timer = window.setTimeout(() => void run(), Math.max(0, ms - (performance.now() - readAt)));
    };
    const onVisible = (): void => plan(paceMs.afterEvents);
    document.addEventListener('visibilitychange', onVisible);
    const stopPulse = pulse.subscribe(({ events }) => {
      const { current } = followed;
      const isFollowed = typeof current === 'boolean' ? current : (events?.some(current) ?? true);
      if (!isFollowed || readAt === 0) return;
      changedAt = performance.now();
      readIn(paceMs.afterEvents);
    });
    const before = commandsDone.peek();
    const stopCommands = commandsDone.subscribe((count) => {
      if (count !== before) readIn(paceMs.atOnce);
    });
    void run();
    return () => {
      abort.abort();
      clearTimeout(timer);
      stopPulse();
      stopCommands();
      document.removeEventListener('visibilitychange', onVisible);
    };
  }, [question]);
  return state.value;
}
