import { computed, signal } from '@preact/signals';
import type { SignInFacts } from '@signalbox/daemon/dashboard';
import { ApiFailure, command, read, signInKey } from '../api/request.ts';
import { setServerTime } from './clock.ts';
import { followEvents, liveState } from './live.ts';

/** Tells whether somebody is signed in; `reason` says why nobody is. */
export type SignIn =
  | { state: 'checking' }
  | { state: 'in'; facts: SignInFacts }
  | { state: 'out'; reason: string };

export const signIn = signal<SignIn>({ state: 'checking' });

const permissions = computed(() => (signIn.value.state === 'in' ? signIn.value.facts.permissions : []));

/** True if the sign-in may do everything. */
export const canAct = computed(() => permissions.value.includes('operator'));
/** True if the sign-in sees events. A sign-in that only decides sees the calls that wait for it, and holds. */
export const canLook = computed(() => canAct.value || permissions.value.includes('observer'));
/** True if the sign-in reads what agents wrote. */
export const canReadBodies = computed(() => canAct.value || permissions.value.includes('read-bodies'));
/** True if the sign-in decides on tool calls, all or those of certain roles. */
export const canDecide = computed(() => canAct.value || permissions.value.includes('approver'));

const retryMs = 1000;

/** Signs in with the code in the address, which is removed at once, or continues with the existing sign-in. */
export async function startSignIn(): Promise<void> {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (code !== undefined) {
    history.replaceState(null, '', location.pathname);
    try {
      signInKey.set((await command<{ key: string }>('sign-in', { code })).key);
    } catch (error) {
      signIn.value = { state: 'out', reason: textOf(error) };
      return;
    }
  }
  if (signInKey.get() === null) {
    signIn.value = { state: 'out', reason: '' };
    return;
  }
  await resume();
}

/** Signs in with the token of a person. Rejects with the reason if the broker refuses it. */
export async function signInWith(token: string): Promise<void> {
  signInKey.set((await command<{ key: string }>('sign-in', { token })).key);
  // The stream of events of an earlier sign-in has ended, and with it this page's: it begins anew.
  location.reload();
}

async function resume(): Promise<void> {
  for (;;) {
    try {
      const facts = await read<SignInFacts>('sign-in');
      setServerTime(facts.now);
      signIn.value = { state: 'in', facts };
      void followEvents(signInEnded);
      return;
    } catch (error) {
      if (error instanceof ApiFailure && error.status === 401) return signInEnded();
      liveState.value = 'lost';
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  }
}

/** Called when the broker no longer knows the sign-in: its token expired or was revoked. */
export function signInEnded(): void {
  signInKey.remove();
  liveState.value = 'ended';
  if (signIn.value.state !== 'out') signIn.value = { state: 'out', reason: 'Your sign-in has ended.' };
}

/** Ends the sign-in. */
export async function signOut(): Promise<void> {
  await command('sign-in/end', {}).catch(() => {});
  signInKey.remove();
  liveState.value = 'ended';
  signIn.value = { state: 'out', reason: 'You have signed out.' };
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
