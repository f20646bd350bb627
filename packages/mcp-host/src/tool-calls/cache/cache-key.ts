import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { canonicalText } from '../../argument-check/json/canonical-text.ts';

/** The call whose answer is kept. */
export interface CacheKey {
  /** The name of the tool, with a mark that distinguishes tools of one name, for example the instance of its server. */
  tool: string;
  args: Record<string, unknown>;
  /** The only callers that may read the answer, unless it is public. With `undefined` only public answers are kept. */
  scope: string | undefined;
}

/** The addresses of an answer: one for all callers, and one for only the scope of its key. */
export interface CacheAddress {
  shared: string;
  own: string | undefined;
}

/**
 * Returns the addresses for a key, by the SHA-256 of the RFC 8785 form of the arguments; `undefined` for arguments that
 * have no such form, for example a lone surrogate.
 */
export function addressOf({ tool, args, scope }: CacheKey): CacheAddress | undefined {
  const text = canonicalJson(args);
  if (text === undefined) return undefined;
  const digest = createHash('sha256').update(text).digest('base64url');
  const at = (reader: string[]) => JSON.stringify([tool, digest, ...reader]);
  return { shared: at([]), own: scope === undefined ? undefined : at([scope]) };
}

/**
 * Returns the RFC 8785 form of JSON data, in which an {@link ExactNumber} keeps its text; `undefined` for data without one, for example a
 * lone surrogate.
 */
export function canonicalJson(data: unknown): string | undefined {
  try {
    const text = canonicalize(data);
    // Written by `canonicalize`, an exact number looks like an object.
    return text?.includes('{"rawJSON":') ? canonicalText(data) : text;
  } catch {
    return undefined;
  }
}
