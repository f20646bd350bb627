import type { SignIn } from '@signalbox/broker';
import type { BrokerClient } from '@signalbox/client';
import type { ListedToken } from '@signalbox/client/operator';

/** The broker, with the functions that the dashboard needs. */
export interface BrokerAccess {
  /** The origins under which the page is reached. */
  origins(): readonly string[];
  /** Makes a code for the holder of a token, as `signalbox dashboard` does. Rejects if the token is not valid, or is for none. */
  codeFor(token: string): Promise<string>;
  /** Begins a sign-in for a code. Resolves with `undefined` if the code is not valid. */
  signIn(code: string): Promise<SignIn | undefined>;
  /** Ends a sign-in. */
  signOut(token: string): Promise<void>;
  /** Returns the sign-in that a token belongs to, if it is still valid. */
  signInOf(token: string): Omit<SignIn, 'token'> | undefined;
  /** Returns the valid tokens, of which a page is shown what needs a person. */
  tokens(): readonly ListedToken[];
  /** Connects to the broker with the token of a sign-in. */
  connect(signIn: SignIn): Promise<BrokerClient>;
}
