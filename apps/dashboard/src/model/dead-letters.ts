import { signal } from '@preact/signals';
import type { DeadLetter } from '@signalbox/client/operator';
import { useEffect, useMemo } from 'preact/hooks';
import { read } from '../api/request.ts';
import type { Resource } from './resource.ts';
import { useResource } from './resource.ts';

interface Page {
  messages: DeadLetter[];
  more: boolean;
}

/** The most dead letters that are shown at a time. */
const most = 10_000;

/** Reads the dead letters page by page, and all of them again when their first page changes. */
export function useDeadLetters(): Resource<Page> {
  const first = useResource<Page>('dead-letters');
  const all = useMemo(() => signal<Page | undefined>(undefined), []);
  // Added or removed letters change the number on the first page, or its first and last letter.
  const { messages = [], more = false } = first.data ?? {};
  const print = JSON.stringify([messages.length, messages[0]?.seq, messages.at(-1)?.seq, more]);
  useEffect(() => {
    const abort = new AbortController();
    const page = first.data;
    if (!page?.more) all.value = page;
    else
      void readRest(page, abort.signal).then(
        (whole) => {
          all.value = whole;
        },
        () => {
          // The first page is read again, and then the rest.
        },
      );
    return () => abort.abort();
  }, [print]);
  return { ...first, data: all.value ?? first.data };
}

async function readRest(first: Page, signal: AbortSignal): Promise<Page> {
  const messages = [...first.messages];
  let { more } = first;
  while (more && messages.length < most) {
    const page = await read<Page>('dead-letters', { after: messages.at(-1)?.seq }, signal);
    messages.push(...page.messages);
    more = page.more;
  }
  return { messages, more };
}
