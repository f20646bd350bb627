import { signal } from '@preact/signals';
import type { DeadLetter } from '@signalbox/client/operator';
import { useEffect, useMemo } from 'preact/hooks';
import { read } from '../api/request.ts';
import { commandsDone } from './live.ts';
import type { Resource } from './resource.ts';
import { useResource } from './resource.ts';

/** Dead letters by their sequence numbers, and whether there are more behind them. */
export interface Letters {
  messages: DeadLetter[];
  more: boolean;
}

/** The most dead letters that are shown at a time, and on a page of the API. */
const most = { shown: 10_000, perPage: 1000 };

/**
 * Reads the dead letters page by page, when a message was given up and every so often: the first page and the last one. Those between them
 * are read again when the first one has changed, or after a command of this page.
 */
export function useDeadLetters(): Resource<Letters> {
  const first = useResource<Letters>(
    'dead-letters',
    {},
    { follows: (event) => event.what === 'settled' && event.outcome !== 'acked' },
  );
  const all = useMemo(() => signal<(Letters & { print: string }) | undefined>(undefined), []);
  // Added or removed letters change the number on the first page, or its first and last letter.
  const { messages = [], more = false } = first.data ?? {};
  const print = JSON.stringify([
    ...[messages.length, messages[0]?.seq, messages.at(-1)?.seq, more],
    commandsDone.value,
  ]);
  useEffect(() => {
    const abort = new AbortController();
    const known = all.peek();
    const page = (after: number) => read<Letters>('dead-letters', { after }, abort.signal);
    if (first.data)
      void readBehind(first.data, known?.print === print ? known.messages : [], page).then(
        (whole) => {
          if (!abort.signal.aborted) all.value = { ...whole, print };
        },
        () => {
          // The first page is read again, and then the rest.
        },
      );
    return () => abort.abort();
  }, [print, first.at]);
  return { ...first, data: all.value ?? first.data };
}

/** Adds the pages behind the first one, from the last page of the `known` letters on. `page` reads the letters after a sequence number. */
export async function readBehind(
  first: Letters,
  known: readonly DeadLetter[],
  page: (after: number) => Promise<Letters>,
): Promise<Letters> {
  const kept = Math.floor((known.length - 1) / most.perPage) * most.perPage;
  const messages = [...first.messages, ...known.slice(first.messages.length, kept)];
  let { more } = first;
  for (let last = messages.at(-1); more && last && messages.length < most.shown; last = messages.at(-1)) {
    const next = await page(last.seq);
    messages.push(...next.messages);
    more = next.more && next.messages.length > 0;
  }
  return { messages, more };
}
