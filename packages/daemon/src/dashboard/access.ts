import type { BrokerClient } from '@signalbox/client';
import type { ListedToken } from '@signalbox/client/operator';
import type { Permission } from '@signalbox/protocol';

/** A sign-in of a browser that signed in. */
export interface SignedIn {
  token: string;
  agent: string;
  role: string;
  permissions: readonly Permission[];
  /** The roles on whose tool calls it decides, or patterns. Absent for operators, who decide on all, and for observers. */
  approves?: readonly string[];
  /** Epoch milliseconds. */
  expiresAt: number;
}

/** The broker, with the functions that the dashboard needs. */
export interface BrokerAccess {
  /** The origins under which the page is reached. */
  origins(): readonly string[];
  /** Makes a code for the holder of a token, as `signalbox dashboard` does. Rejects if the token is not valid, or is for none. */
  codeFor(token: string): Promise<string>;
  /** Begins a sign-in for a code. Resolves with `undefined` if the code is not valid. */
  signIn(code: string): Promise<SignedIn | undefined>;
  /** Ends a sign-in. */
  signOut(token: string): Promise<void>;
  /** Returns the sign-in that a token belongs to, if it is still valid. */
  signInOf(token: string): Omit<SignedIn, 'token'> | undefined;
  /** Returns the valid tokens, of which a page is shown what needs a person. */
  tokens(): readonly ListedToken[];
  /** Connects to the broker with the token of a sign-in. */
  connect(signIn: SignedIn): Promise<BrokerClient>;
}
