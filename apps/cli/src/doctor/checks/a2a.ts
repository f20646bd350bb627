import { existsSync, statSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Config } from '@signalbox/daemon/config';
import { formatListenAddress } from '@signalbox/daemon/config/internal';
import { outsideTasksFile } from '@signalbox/daemon/data-directory';
import { defaultA2aLimits } from '@signalbox/serving';
import { byteSize } from '../../terminal/byte-size.ts';
import { count } from '../../terminal/output.ts';
import { type Finding, ok, warning } from '../finding.ts';
import { portFinding } from './port.ts';
import { tlsFinding } from './tls.ts';

/** The longest wait for the answer of a bridge, in milliseconds. */
const answerMs = 5_000;

/** Judges the bridge to clients of A2A: its certificate, and whether it answers, or could listen while no broker runs. `now` in epoch milliseconds. */
export async function a2aFindings(
  a2a: NonNullable<Config['a2a']>,
  { isBrokerThere, now, dataDir }: { isBrokerThere: boolean; now: number; dataDir: string },
): Promise<Finding[]> {
  const own = [
    ...(a2a.tls ? [await tlsFinding(a2a.tls, now, 'a2a.tls')] : []),
    ...sizeFindings(outsideTasksFile(dataDir), a2a),
  ];
  if (a2a.listen.port === 0) return [...own, ok('the system chooses a free port for it at the start')];
  if (!isBrokerThere) return [...own, await portFinding(a2a.listen, 'a2a.listen')];
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
  return [...own, found];
}

/** Says how large the database of tasks is, if there is one. */
function sizeFindings(file: string, { limits }: NonNullable<Config['a2a']>): Finding[] {
  if (!existsSync(file)) return [];
  const bytes = [file, `${file}-wal`]
    .map((path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0)
    .reduce((sum, size) => sum + size, 0);
  const most = limits?.bytes ?? defaultA2aLimits.bytes;
  return [
    ok(`the database of tasks has ${byteSize(bytes)}; a2a.limits.bytes allows ${byteSize(most)} of tasks`),
  ];
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
