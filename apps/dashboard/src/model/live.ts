import { signal } from '@preact/signals';
import type { TailEvent } from '@signalbox/client/operator';
import { isOperator } from '@signalbox/protocol/names';
import { signInHeaders } from '../api/request.ts';
import { SentEventReader } from '../api/server-sent-events.ts';

/** The state of the stream of events: `lost` is tried again, `ended` is not. */
export type LiveState = 'connecting' | 'open' | 'lost' | 'ended';

export const liveState = signal<LiveState>('connecting');
/** What happened last; `events` is absent if anything may have. A view whose data may have changed reads again. */
export const pulse = signal<{ events?: readonly TailEvent[] }>({});
/** Counts the commands of this page that have ended. After each the views read again at once. */
export const commandsDone = signal(0);
/** The newest events of the stream, and the number of those that the page was not sent. */
export const lastBatch = signal<{ events: TailEvent[]; missed: number }>({ events: [], missed: 0 });

const retryMs = { first: 500, most: 5000 };

/** Follows the stream of events until it is ended for good. `onEnded` is called when the sign-in has ended. */
export async function followEvents(onEnded: () => void): Promise<void> {
  let lastId: string | undefined;
  for (let waitMs = retryMs.first; liveState.value !== 'ended'; ) {
    try {
      const headers = { ...signInHeaders(), ...(lastId !== undefined && { 'last-event-id': lastId }) };
      const response = await fetch('/api/events', { headers, cache: 'no-store' });
      if (response.status === 401) return onEnded();
      if (response.ok && response.body) {
        waitMs = retryMs.first;
        for await (const event of eventsOf(response.body)) {
          lastId = event.id ?? lastId;
          if (event.name === 'end') break;
          take(event.name, JSON.parse(event.data));
        }
      }
    } catch {
      // The broker is unreachable: the loop tries again.
    }
    liveState.value = 'lost';
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    waitMs = Math.min(retryMs.most, waitMs * 2);
  }
}

function take(name: string, data: { events?: TailEvent[]; missed?: number }): void {
  liveState.value = 'open';
  if (name === 'batch') lastBatch.value = { events: data.events ?? [], missed: data.missed ?? 0 };
  pulse.value = name === 'batch' && lastBatch.value.missed === 0 ? { events: lastBatch.value.events } : {};
}

/** Tells whether an event is one of messages and calls that go well, so that nobody needs to look because of it. */
export function isRoutine(event: TailEvent, person: string): boolean {
  if (event.what === 'call') {
    const { state, outcome } = event.call;
    return state === 'queued' || state === 'running' || (state === 'finished' && outcome === 'ok');
  }
  if (event.what === 'settled') return event.outcome === 'acked';
  if (event.what === 'stored') {
    const [to = ''] = event.message.to.split('#');
    return to !== person && !isOperator(to);
  }
  return event.what === 'delivered' || event.what === 'scheduled' || event.what === 'announced';
}

async function* eventsOf(body: ReadableStream<Uint8Array>) {
  const sent = new SentEventReader();
  const reader = body
    .pipeThrough(new TextDecoderStream() as never)
    .getReader() as ReadableStreamDefaultReader<string>;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* sent.read(value);
    }
  } finally {
    // A stream that broke fails here with the same error again.
    reader.cancel().catch(() => {});
  }
}
