import type { Permission, TokenRecord } from '@signalbox/store';
import { removeToken } from '../frames/admin/remove-token.ts';
import { describeIssued } from '../frames/admin/tokens.ts';
import { type Caller, callerEvent } from '../frames/caller.ts';
import type { FrameDeps } from '../frames/frame-deps.ts';

/** The longest life of a browser's session, in milliseconds. */
const sessionMs = 12 * 60 * 60 * 1000;

/** The most sessions under one token. A new one beyond that ends the oldest. */
const maxSessions = 16;

/** A session of a browser. Its token is a child of the token of the person who signed in, and ends with that token. */
export interface BrowserSession {
  token: string;
  agent: string;
  role: string;
  permissions: readonly Permission[];
  /** The roles on whose tool calls it decides, or patterns. Absent for operators, who decide on all, and for observers. */
  approves?: readonly string[];
  /** Epoch milliseconds. */
  expiresAt: number;
}

type Deps = Pick<FrameDeps, 'signIns' | 'tokens' | 'connected' | 'delivery' | 'now'>;

/** Begins a session for a code. Resolves with `undefined` if the code, or its token, is not valid. */
export async function signIn(code: string, deps: Deps): Promise<BrowserSession | undefined> {
  const id = deps.signIns.take(code);
  const parent = id === undefined ? undefined : deps.tokens.get(id);
  if (!parent || !deps.tokens.isLive(parent)) return undefined;
  await endOldest(parent, deps);
  const { agent, role, approves, expiresAt: parentEnd = Number.POSITIVE_INFINITY } = parent;
  const expiresAt = Math.min(deps.now() + sessionMs, parentEnd);
  const eventOf = (record: TokenRecord) => {
    const { detail, name } = describeIssued(record);
    const about = { detail: `${detail}, for the dashboard`, name };
    return callerEvent(callerOf(parent), 'token_issued', about, deps.now());
  };
  const request = {
    agent,
    role,
    ...(approves && { approves }),
    ...(parent.permissions.includes('read-bodies') && { readsBodies: true }),
    ttlMs: expiresAt - deps.now(),
  };
  // The issuers of the person's token may decide with its session no more than with the token.
  const { issuers } = parent;
  const origin = { issuer: parent, parent, issuers, isSession: true } as const;
  const issued = await deps.tokens.issue(request, eventOf, origin);
  return issued && describe(issued.token, issued.record, expiresAt);
}

/** Returns the session that a token belongs to; `undefined` if the session has ended, or the token belongs to none. */
export function sessionOf(token: string, { tokens }: Pick<FrameDeps, 'tokens'>): BrowserSession | undefined {
  const record = tokens.authenticate(token);
  if (typeof record === 'string' || 'expired' in record) return undefined;
  return record.isSession && record.expiresAt !== undefined
    ? describe(token, record, record.expiresAt)
    : undefined;
}

function describe(token: string, record: TokenRecord, expiresAt: number): BrowserSession {
  const { agent, role, permissions, approves } = record;
  return { token, agent, role, permissions, ...(approves && { approves }), expiresAt };
}

/** Ends the session that a token belongs to. Any other token stays as it is. */
export async function signOut(token: string, deps: Deps): Promise<void> {
  const record = deps.tokens.authenticate(token);
  if (typeof record === 'string' || 'expired' in record || !sessionOf(token, deps)) return;
  await removeToken(record, deps, callerOf(record));
}

async function endOldest(parent: TokenRecord, deps: Deps): Promise<void> {
  const sessions = deps.tokens
    .list()
    .filter(({ parentId, isSession }) => isSession && parentId === parent.id);
  sessions.sort((a, b) => a.createdAt - b.createdAt);
  for (const record of sessions.slice(0, Math.max(0, sessions.length - maxSessions + 1)))
    await removeToken(record, deps, callerOf(record));
}

function callerOf(token: TokenRecord): Pick<Caller, 'token' | 'sender'> {
  const { agent, role } = token;
  return { token, sender: { agent, address: agent, role } };
}
