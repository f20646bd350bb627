import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Config } from '@signalbox/daemon/config';
import { formatListenAddress } from '@signalbox/daemon/config/internal';
import { count } from '../../terminal/output.ts';
import { type Finding, ok, warning } from '../finding.ts';
import { portFinding } from './port.ts';
import { tlsFinding } from './tls.ts';

/** The longest wait for the answer of a bridge, in milliseconds. */
const answerMs = 5_000;

/** Judges the bridge to clients of A2A: its certificate, and whether it answers, or could listen while no broker runs. `now` in epoch milliseconds. */
export async function a2aFindings(
  a2a: NonNullable<Config['a2a']>,
  { isBrokerThere, now }: { isBrokerThere: boolean; now: number },
): Promise<Finding[]> {
  const tls = a2a.tls ? [await tlsFinding(a2a.tls, now, 'a2a.tls')] : [];
  if (a2a.listen.port === 0) return [...tls, ok('the system chooses a free port for it at the start')];
  if (!isBrokerThere) return [...tls, await portFinding(a2a.listen, 'a2a.listen')];
  const address = formatListenAddress(a2a.listen);
  const agents = Object.keys(a2a.agents);
  const status = await statusOfCard(a2a, agents[0]!);
  const found =
    status === 200
      ? ok(`answers at ${address} for ${count(agents.length, 'agent')}`)
      : warning(
          `no client of A2A reaches an agent: ${status === undefined ? `nobody answers at ${address}` : `another program answers at ${address}`}`,
          'start signalbox up, again if it ran before a2a was in this file, or signalbox a2a serve',
        );
  return [...tls, found];
}

/** Asks for the card of an agent. Resolves with the status of the answer; `undefined` if there is none. */
function statusOfCard(
  { listen, tls }: NonNullable<Config['a2a']>,
  agent: string,
): Promise<number | undefined> {
  const host =
    ({ '0.0.0.0': '127.0.0.1', '::': '::1' } as Record<string, string>)[listen.host] ?? listen.host;
  const options = {
    ...{ host, port: listen.port, path: `/a2a/${agent}/.well-known/agent-card.json` },
    headers: { host: 'localhost' },
    // The certificate is judged by itself: it names the host that clients use.
    rejectUnauthorized: false,
    timeout: answerMs,
  };
  return new Promise((resolve) => {
    const asked = (tls ? httpsRequest : httpRequest)(options, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.on('timeout', () => asked.destroy());
    asked.on('error', () => resolve(undefined));
    asked.end();
  });
}
