import type { BrokerClient } from '@signalbox/client';
import { readAudit } from '@signalbox/client/operator';
import { type AdminResult, messageOf, SignalboxError } from '@signalbox/protocol';
import { formatElapsed } from '@signalbox/protocol/duration';
import { count } from '../../terminal/output.ts';
import { failureFinding } from '../failure-finding.ts';
import { type Finding, failed, ok, warning } from '../finding.ts';
import type { ReachedBroker } from '../reached-broker.ts';

/** The lifetime of the message in milliseconds, if this process is killed before it takes the message. */
const messageTtlMs = 60_000;

/** A message that was written to an address of this process and read back, in milliseconds. */
export interface RoundTrip {
  tookMs: number;
  /** The broker's clock minus the middle of the time on ours in which it took the message. */
  brokerAheadMs: number;
}

/**
 * Writes a message to the client's own address, which must be one that nobody else has, reads it back and acknowledges it. `undefined`
 * if the role of the client may not send.
 */
export async function roundTrip(client: BrokerClient, now: () => number): Promise<RoundTrip | undefined> {
  const began = performance.now();
  const before = now();
  try {
    const body = 'signalbox doctor';
    await client.deliver({ to: client.address, kind: 'probe', body, ttlMs: messageTtlMs });
  } catch (error) {
    if (error instanceof SignalboxError && ['forbidden', 'permission_denied'].includes(error.code))
      return undefined;
    throw error;
  }
  const after = now();
  await using subscription = await client.subscribe();
  const { value, done } = await subscription.messages.next();
  if (done || value.seq === undefined) throw new SignalboxError('closed', 'the broker closed the connection');
  await client.ack([value.seq]);
  return { tookMs: performance.now() - began, brokerAheadMs: value.created_at - (before + after) / 2 };
}

/** Judges how the broker was reached. */
export async function brokerFinding(
  reached: ReachedBroker,
  trip: () => Promise<RoundTrip | undefined>,
): Promise<Finding> {
  switch (reached.state) {
    case 'absent':
      return ok('none runs here, so no message was tried; signalbox up starts one');
    case 'failed': {
      const { error, pid } = reached;
      // Nothing is wrong with a broker that this command does not know how to ask.
      const isUnasked = error instanceof SignalboxError && error.code === 'usage';
      if (pid === undefined || isUnasked) return failureFinding(error, 'start one with: signalbox up');
      return failed(
        `process ${pid} should be the broker, and it could not be used: ${messageOf(error)}`,
        `look at its log; if it does not answer, end it with: kill ${pid}`,
      );
    }
    case 'refused':
      return ok(`${reached.connection.url} answers, and does not accept the token`);
    case 'connected': {
      const { url } = reached.client;
      const { mintingPattern } = reached.connection;
      // A minting token has no address of its own that a message could go to.
      const done = mintingPattern === undefined ? await trip() : undefined;
      return ok(
        done
          ? `${url} answers: a message was written and read back in ${formatElapsed(done.tookMs)}`
          : `${url} answers; the token is not one that sends messages, so none was tried`,
      );
    }
  }
}

/** The number of damages that are shown. */
const shownDamages = 5;

/** Asks a running broker which damage it has found since its start, at `since` in epoch milliseconds. */
export async function damageFindings(client: BrokerClient, since: number): Promise<Finding[]> {
  const { entries } = await readAudit(client, { since, kinds: ['loss'], limit: 1000 });
  const damages = entries.filter(({ code }) => code === 'damage_found');
  if (damages.length === 0) return [ok('the running broker has found no damage since its start')];
  const fix = 'restore a backup: signalbox restore; signalbox audit shows all losses';
  const rest = damages.length - shownDamages;
  return [
    ...damages.slice(0, shownDamages).map(({ detail }) => failed(`damage was found: ${detail}`, fix)),
    ...(rest > 0 ? [failed(`${count(rest, 'further damage')} found`, fix)] : []),
  ];
}

/** Warns of other brokers on the database to which a running broker has no direct connection. */
export function linkFindings(brokers: AdminResult<'stats'>['brokers'] = []): Finding[] {
  return brokers
    .filter(({ linked }) => linked === false)
    .map(({ name }) =>
      warning(
        `there is no direct connection to the broker ${name}, so that messages for its agents take longer`,
        'let this machine reach it: give it a port in broker.store.link, and open that one',
      ),
    );
}
