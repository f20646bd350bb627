import { readFile } from 'node:fs/promises';
import { messageOf } from '@signalbox/protocol';
import { boundedText } from '@signalbox/serving';
import { networkFailure } from '../guarded-fetch/index.ts';
import { readToolList, type ToolList, type ToolListLimits } from '../inventory/tool-list.ts';

const maxBytes = 4 * 1024 * 1024;
const fetchMs = 5_000;

/** The content of a server card: its list of tools, or the reason why it can't be used. */
export type ServerCard = { list: ToolList } | { problem: string };

/**
 * Reads a server card, `{name?, description?, tools: Tool[]}`, from a file or an http(s) URL. Never rejects: a card
 * that can't be read yields a problem.
 */
export async function readServerCard(
  card: string,
  { fetch: fetchCard, limits, signal }: { fetch: typeof fetch; limits: ToolListLimits; signal: AbortSignal },
): Promise<ServerCard> {
  try {
    const text = /^https?:/i.test(card) ? await download(card, fetchCard, signal) : await load(card);
    const parsed: unknown = JSON.parse(text);
    const tools =
      typeof parsed === 'object' && parsed !== null && 'tools' in parsed ? parsed.tools : undefined;
    if (!Array.isArray(tools)) return { problem: 'its card has no tools: expected {"tools": [...]}' };
    return { list: await readToolList(async () => ({ tools }), limits) };
  } catch (error) {
    return { problem: `its card cannot be read: ${reasonOf(error)}` };
  }
}

class CardError extends Error {}

async function load(path: string): Promise<string> {
  const bytes = await readFile(path);
  if (bytes.length > maxBytes) throw new CardError('it is larger than 4 MiB');
  return bytes.toString('utf8');
}

async function download(url: string, fetchCard: typeof fetch, signal: AbortSignal): Promise<string> {
  const late = AbortSignal.timeout(fetchMs);
  const response = await fetchCard(url, {
    headers: { accept: 'application/json' },
    signal: AbortSignal.any([late, signal]),
  });
  if (!response.ok) throw new CardError(`HTTP ${response.status}`);
  const { text, isWhole } = await boundedText(response.body, maxBytes);
  if (!isWhole) throw new CardError('it is larger than 4 MiB');
  return text;
}

/** Returns the reason without the card's address, which may hold a secret, and without its content. */
function reasonOf(error: unknown): string {
  if (error instanceof CardError) return error.message;
  if (error instanceof SyntaxError) return 'it is not JSON';
  if (error instanceof DOMException) return `no answer within ${fetchMs / 1_000} s`;
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return networkFailure(error)?.reason ?? messageOf(error);
}
