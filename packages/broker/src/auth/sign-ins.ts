import type { Permission, TokenRecord } from '@signalbox/store';
import { removeToken } from '../frames/admin/remove-token.ts';
import { describeIssued } from '../frames/admin/tokens.ts';
import { type Caller, callerEvent } from '../frames/caller.ts';
import type { FrameDeps } from '../frames/frame-deps.ts';

/** The longest life of a browser's sign-in, in milliseconds. */
const signInMs = 12 * 60 * 60 * 1000;

/** The most sign-ins under one token. A new one beyond that ends the oldest. */
const maxSignIns = 16;

/** A sign-in of a browser. Its token is a child of the token of the person who signed in, and ends with that token. */
export interface SignIn {
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

/** Begins a sign-in for a code. Resolves with `undefined` if the code, or its token, is not valid. */
export async function signIn(code: string, deps: Deps): Promise<SignIn | undefined> {
  const id = deps.signIns.take(code);
  const parent = id === undefined ? undefined : deps.tokens.get(id);
  if (!parent || !deps.tokens.isLive(parent)) return undefined;
  await endOldest(parent, deps);
  const { agent, role, approves, expiresAt: parentEnd = Number.POSITIVE_INFINITY } = parent;
  const expiresAt = Math.min(deps.now() + signInMs, parentEnd);
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
  // The issuers of the person's token may decide with its sign-in no more than with the token.
  const { issuers } = parent;
  const origin = { issuer: parent, parent, issuers, isSignIn: true } as const;
  const issued = await deps.tokens.issue(request, eventOf, origin);
  return issued && describe(issued.token, issued.record, expiresAt);
}

/** Returns the sign-in that a token belongs to; `undefined` if the sign-in has ended, or the token belongs to none. */
export function signInOf(token: string, { tokens }: Pick<FrameDeps, 'tokens'>): SignIn | undefined {
  const record = tokens.authenticate(token);
  if (typeof record === 'string' || 'expired' in record) return undefined;
  return record.isSignIn && record.expiresAt !== undefined
    ? describe(token, record, record.expiresAt)
    : undefined;
}

function describe(token: string, record: TokenRecord, expiresAt: number): SignIn {
  const { agent, role, permissions, approves } = record;
  return { token, agent, role, permissions, ...(approves && { approves }), expiresAt };
}

/** Ends the sign-in that a token belongs to. Any other token stays as it is. */
export async function signOut(token: string, deps: Deps): Promise<void> {
  const record = deps.tokens.authenticate(token);
  if (typeof record === 'string' || 'expired' in record || !signInOf(token, deps)) return;
  await removeToken(record, deps, callerOf(record));
}

async function endOldest(parent: TokenRecord, deps: Deps): Promise<void> {
  const signIns = deps.tokens.list().filter(({ parentId, isSignIn }) => isSignIn && parentId === parent.id);
  signIns.sort((a, b) => a.createdAt - b.createdAt);
  for (const record of signIns.slice(0, Math.max(0, signIns.length - maxSignIns + 1)))
    await removeToken(record, deps, callerOf(record));
}

function callerOf(token: TokenRecord): Pick<Caller, 'token' | 'sender'> {
  const { agent, role } = token;
  return { token, sender: { agent, address: agent, role } };
}
