import { SignalboxError } from '../signalbox-error.ts';
import type { ManifestRequest } from './mcp-request.ts';
import type { Manifest } from './tool.ts';

/** The number of times that a reader starts over before it asks for a list that is kept for it. */
const maxRestarts = 5;

/**
 * Reads the manifest of the asker's role page by page, and returns it whole or `unchanged`. `ask` sends one request; it
 * rejects with a `SignalboxError` of the code of the answer. If the list keeps changing while it is read, the reader
 * starts over five times, and then reads a list that the orchestrator keeps for it. Rejects as `ask` does.
 */
export async function readWholeManifest(
  ask: (request: ManifestRequest) => Promise<Manifest>,
  knownVersion?: string,
): Promise<Manifest> {
  const known = knownVersion === undefined ? {} : { known_version: knownVersion };
  for (let restarts = 0; ; restarts++) {
    const keep = restarts <= maxRestarts ? {} : { keep: true as const };
    const whole = await readPages(ask, { op: 'manifest', ...known, ...keep });
    if (whole) return whole;
    if (restarts > maxRestarts) {
      const message = 'the list of tools changed each time while it was read';
      throw new SignalboxError('manifest_moved', message, { retryable: true });
    }
  }
}

/** Reads all pages; resolves with `undefined` if the list changed meanwhile. */
async function readPages(
  ask: (request: ManifestRequest) => Promise<Manifest>,
  request: ManifestRequest,
): Promise<Manifest | undefined> {
  const { cursor: next, ...first } = await ask(request);
  if (next === undefined) return first;
  const pages = [first];
  try {
    for (let cursor: string | undefined = next; cursor !== undefined; ) {
      const page: Manifest = await ask({ op: 'manifest', cursor });
      if (page.version !== first.version || page.tools === undefined) return undefined;
      pages.push(page);
      cursor = page.cursor;
    }
  } catch (error) {
    if (error instanceof SignalboxError && error.code === 'manifest_moved') return undefined;
    throw error;
  }
  return { ...first, ...joined(pages) };
}

/** Joins the lists of all pages. A list that no page has is left out. */
function joined(pages: readonly Manifest[]): Partial<Manifest> {
  const lists = ['tools', 'prompts', 'resources', 'resource_templates'] as const;
  return Object.fromEntries(
    lists
      .filter((list) => pages.some((page) => page[list] !== undefined))
      .map((list) => [list, pages.flatMap((page) => (page[list] as object[] | undefined) ?? [])]),
  );
}
