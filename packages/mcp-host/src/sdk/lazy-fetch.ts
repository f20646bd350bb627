import type { Fetch } from './request-fetch.ts';
import type { UpstreamFetch } from './upstream-fetch.ts';

/** Returns a {@link UpstreamFetch} that is opened by its first request: undici is slow to load, and few hosts have servers behind HTTP. */
export function lazyUpstreamFetch(): UpstreamFetch {
  let opening: Promise<UpstreamFetch> | undefined;
  const open = async (): Promise<UpstreamFetch> => (await import('./upstream-fetch.ts')).openUpstreamFetch();
  const fetch: Fetch = async (url, init) => {
    opening ??= open();
    return (await opening).fetch(url, init);
  };
  return { fetch, close: async () => (await opening)?.close() };
}
