import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import { messageOf } from '@signalbox/protocol';

/** A certificate with those of the authorities between it and the root, and its private key, all as PEM text. */
export interface TlsPair {
  cert: string;
  key: string;
}

/** The time before its expiry at which a certificate should be renewed, in milliseconds. */
const renewMs = 14 * 24 * 60 * 60 * 1000;

/** The time in which a certificate is valid, in epoch milliseconds. */
export interface CertificateLife {
  begins: number;
  ends: number;
}

/** Returns the reason why a pair can't be used at all, or `undefined`. The text never holds a part of the key. */
export function pairProblem(pair: TlsPair): string | undefined {
  const { cert, key } = pair;
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(cert);
  } catch (error) {
    return `the file of the certificate holds no certificate in PEM: ${messageOf(error)}`;
  }
  if (/^-----BEGIN ENCRYPTED|^Proc-Type: 4,ENCRYPTED/m.test(key)) {
    return 'the key has a passphrase, which nobody could type when the process starts; store it without one';
  }
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    const isMismatch = messageOf(error).includes('key values mismatch');
    return isMismatch
      ? mismatchText(pair, certificate)
      : `the file of the key holds no private key in PEM: ${messageOf(error)}`;
  }
  return undefined;
}

/**
 * Describes a certificate and a key that do not match. The certificate of the server must come first in its file; those of the authorities
 * follow.
 */
function mismatchText({ cert, key }: TlsPair, first: X509Certificate): string {
  const privateKey = createPrivateKey(key);
  const blocks = cert.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  const isLater = blocks.slice(1).some((block) => new X509Certificate(block).checkPrivateKey(privateKey));
  return isLater
    ? `the key belongs to a later certificate of the file; put that one first, before that of ${subjectOf(first)}`
    : `the key does not belong to the certificate of ${subjectOf(first)}`;
}

/** Returns the beginning and the end of the validity of a pair's certificate. */
export function certificateLife({ cert }: Pick<TlsPair, 'cert'>): CertificateLife {
  const { validFrom, validTo } = new X509Certificate(cert);
  return { begins: Date.parse(validFrom), ends: Date.parse(validTo) };
}

/** Returns the reason why a certificate is not valid at a time, in epoch milliseconds; `undefined` if it is. */
export function lifeProblem({ begins, ends }: CertificateLife, now: number): string | undefined {
  if (now >= ends) return `expired on ${new Date(ends).toISOString()}`;
  return now < begins ? `is good from ${new Date(begins).toISOString()} only` : undefined;
}

/** Tells whether a certificate expires so soon that it should have been renewed: within 14 days. */
export function endsSoon({ ends }: CertificateLife, now: number): boolean {
  return ends - now < renewMs;
}

/** Describes the names and the end of a certificate, and tells whether it is valid at a time, in epoch milliseconds. */
export function checkCertificate(pair: Pick<TlsPair, 'cert'>, now: number): { ok: boolean; detail: string } {
  const life = certificateLife(pair);
  const problem = lifeProblem(life, now);
  const subject = subjectOf(new X509Certificate(pair.cert));
  const state = problem ?? `is good until ${new Date(life.ends).toISOString()}`;
  return { ok: problem === undefined, detail: `the certificate of ${subject} ${state}` };
}

function subjectOf({ subject, subjectAltName }: X509Certificate): string {
  return (subject as string | undefined)?.replaceAll('\n', ', ') || (subjectAltName ?? 'nobody');
}

/**
 * Returns the name under which clients reach a server with this certificate: `host` if the certificate names it, else the first name of the
 * certificate that is not a pattern, else `host`.
 */
export function nameFor(host: string, { cert }: TlsPair): string {
  const certificate = new X509Certificate(cert);
  const isNamed = isIP(host) ? certificate.checkIP(host) : certificate.checkHost(host);
  if (isNamed !== undefined) return host;
  const names = (certificate.subjectAltName ?? '').split(', ').flatMap((entry) => {
    const name = /^DNS:([^*"]+)$/.exec(entry)?.[1];
    return name === undefined ? [] : [name];
  });
  return names[0] ?? host;
}
