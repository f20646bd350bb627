import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { parseBrokerAddresses } from '@signalbox/protocol/internal';

/** The only authorities whose certificates a client accepts: the absolute path of their file, and its content. */
export interface Authorities {
  file: string;
  pem: string;
}

/**
 * Reads the file of authorities that `--ca-file` or `SIGNALBOX_CA_FILE` names. Returns `undefined` if none is named, or if no address of
 * the broker is reached with TLS. Throws `usage` if the file can't be read or holds no certificate.
 */
export function authoritiesFor(
  url: string,
  { caFile }: { caFile?: string },
  { SIGNALBOX_CA_FILE: named }: NodeJS.ProcessEnv,
): Authorities | undefined {
  const given = caFile ?? (named || undefined);
  if (given === undefined) return undefined;
  if (!parseBrokerAddresses(url, { insecure: true }).some((broker) => broker.url.startsWith('wss:')))
    return undefined;
  const file = resolve(given);
  const source = caFile === undefined ? 'SIGNALBOX_CA_FILE' : '--ca-file';
  try {
    const pem = readFileSync(file, 'utf8');
    new X509Certificate(pem);
    return { file, pem };
  } catch (cause) {
    const message = `${source}: ${file} holds no certificate that can be read: ${messageOf(cause)}`;
    throw new SignalboxError('usage', message, {
      cause,
      details: {
        hint: 'name a file with the certificate of the authority in PEM (-----BEGIN CERTIFICATE-----)',
      },
    });
  }
}
