import { requestAddress } from '@signalbox/client';
import { issuerOfToken, SignalboxError } from '@signalbox/protocol';
import { openClient } from '../connection/connected-client.ts';
import type { Connection } from '../connection/connection.ts';
import { expiryWarning } from '../token/token-expiry.ts';

/** The longest wait for a broker, in milliseconds: a snippet can be pasted before the broker runs. */
const brokerTimeoutMs = 2000;

/**
 * Returns what is wrong with an agent's token: that the broker refuses it, or that it ends soon. Returns `undefined` if it is good, or no
 * broker answers.
 */
export async function tokenProblem(connection: Connection, agent: string): Promise<string | undefined> {
  try {
    const signal = AbortSignal.timeout(brokerTimeoutMs);
    await using client = await openClient(connection, requestAddress(agent), { signal });
    const { token } = client.welcome;
    const issuer = issuerOfToken(connection.token);
    const times = token && { agent, role: client.role, issuer, ...token };
    return times && expiryWarning(times, Date.now(), connection.tokenFile);
  } catch (error) {
    if (!(error instanceof SignalboxError) || error.code !== 'unauthorized') return undefined;
    return `the broker refuses this token: ${error.message}; ${String(error.details.hint)}`;
  }
}
