import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

/** The longest id, in characters. Common servers and proxies accept 8 KiB of headers, which the token shares with the id. */
export const maxSessionIdLength = 1_024;
/** The most characters of a client's name, as its status shows them. */
const maxNameLength = 80;

/** The parameters of `initialize` that a session depends on. */
export interface SessionState {
  protocolVersion: string;
  clientInfo: { name: string; version: string };
  capabilities: Record<string, unknown>;
}

/** Makes the ids of the sessions of one token, and reads them again. */
export interface SessionIds {
  /** Makes a new id that holds the state, or a random one if the state is too long for a header. */
  make(state: SessionState): string;
  /** Returns the state that an id of this token holds; `undefined` for every other text. */
  read(id: string): SessionState | undefined;
}

/** A nonce, and the fields of {@link SessionState}. */
const stateParts = z.tuple([
  z.string(),
  z.string(),
  z.string(),
  z.string(),
  z.record(z.string(), z.unknown()),
]);

/**
 * Makes session ids from which any face can derive the session again: `STATE.MAC`, both in base64url. The key of the MAC is made of the
 * token. So the death of a face ends no session, and nothing is stored.
 */
export function sessionIdsOf(token: string): SessionIds {
  const key = createHmac('sha256', token).update('signalbox session id 1').digest();
  const signed = (state: string) => `${state}.${createHmac('sha256', key).update(state).digest('base64url')}`;
  return {
    make({ protocolVersion, clientInfo: { name, version }, capabilities }) {
      const nonce = randomBytes(16).toString('base64url');
      const parts = [nonce, protocolVersion, shown(name), shown(version), capabilities];
      const id = signed(Buffer.from(JSON.stringify(parts)).toString('base64url'));
      return id.length > maxSessionIdLength ? nonce : id;
    },
    read(id) {
      if (id.length > maxSessionIdLength) return undefined;
      const [state = ''] = id.split('.', 1);
      if (!isSameText(id, signed(state))) return undefined;
      return stateOf(Buffer.from(state, 'base64url').toString());
    },
  };
}

function shown(text: string): string {
  return text.slice(0, maxNameLength);
}

function isSameText(given: string, right: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Reads a state whose MAC is right. If no face made it, the owner of the token did, who knows the key. */
function stateOf(text: string): SessionState | undefined {
  try {
    const [, protocolVersion, name, version, capabilities] = stateParts.parse(JSON.parse(text));
    return { protocolVersion, clientInfo: { name, version }, capabilities };
  } catch {
    return undefined;
  }
}
