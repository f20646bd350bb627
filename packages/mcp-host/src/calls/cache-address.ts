import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';

/** What an answer is kept for. */
export interface CacheKey {
  /** With whatever tells tools of one name apart, such as the instance of its server. */
  tool: string;
  args: Record<string, unknown>;
  /** Who may read it unless it is public; `undefined`: nobody is known, so only public answers are kept and read. */
  scope: string | undefined;
}

/** Where an answer stands for everybody, and for the scope of the key alone. */
export interface CacheAddress {
  shared: string;
  own: string | undefined;
}

/** By SHA-256 of the RFC 8785 form of the arguments; `undefined` for arguments that have none, such as a lone surrogate. */
export function addressOf({ tool, args, scope }: CacheKey): CacheAddress | undefined {
  let text: string | undefined;
  try {
    text = canonicalize(args);
  } catch {
    return undefined;
  }
  if (text === undefined) return undefined;
  const digest = createHash('sha256').update(text).digest('base64url');
  const at = (reader: string[]) => JSON.stringify([tool, digest, ...reader]);
  return { shared: at([]), own: scope === undefined ? undefined : at([scope]) };
}
