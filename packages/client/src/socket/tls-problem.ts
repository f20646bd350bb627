import type { IncomingMessage } from 'node:http';
import type { PeerCertificate } from 'node:tls';
import { messageOf, type SignalboxError } from '@signalbox/protocol';
import { errnoOf } from '@signalbox/protocol/internal';
import { clientError } from '../errors.ts';

const clockHint = 'If it is not, the clock of this machine is wrong';
const caHint =
  "name the file with the certificate of the broker's authority with --ca-file or SIGNALBOX_CA_FILE, or have the broker use a certificate of a public authority";

/** A reason why a certificate is refused: a sentence about the certificate, and what to do. */
interface Refusal {
  problem: string;
  hint: string;
}

const unknownAuthority: Refusal = {
  problem: 'it was signed by an authority that this machine does not know',
  hint: caHint,
};

/** The reasons by the codes of Node and OpenSSL. */
const refusals: Readonly<Record<string, Refusal>> = {
  CERT_HAS_EXPIRED: {
    problem: 'it has expired',
    hint: `renew the files of broker.tls: the broker reads them again by itself. ${clockHint}`,
  },
  CERT_NOT_YET_VALID: {
    problem: 'it is not valid yet',
    hint: `use a certificate that is valid now. ${clockHint}`,
  },
  DEPTH_ZERO_SELF_SIGNED_CERT: {
    problem: 'it was signed by itself and by no authority that this machine knows',
    hint: caHint,
  },
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: {
    problem: unknownAuthority.problem,
    hint: `${caHint}. The file of broker.tls.cert must also hold the certificates between the broker's and the authority's`,
  },
  CERT_REVOKED: { problem: 'it was revoked', hint: 'give the broker a new certificate' },
  INVALID_PURPOSE: {
    problem: 'it is not for servers',
    hint: 'give the broker a certificate for TLS servers',
  },
};

/** Returns the error of a connection to `url` that failed because of its encryption, or `undefined` if `cause` is another failure. */
export function tlsProblem(url: string, cause: unknown): SignalboxError | undefined {
  const code = codeOf(cause);
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return wrongName(url, cause);
  const refusal = Object.hasOwn(refusals, code) ? refusals[code] : undefined;
  if (refusal) return untrusted(url, refusal, cause);
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG') {
    return clientError('wrong_scheme', `can't connect to ${url}: what answers there is not encrypted`, {
      cause,
      details: {
        hint: `connect to ${url.replace(/^wss:/, 'ws:')}, or set broker.tls so that the broker encrypts`,
      },
    });
  }
  if (!code.startsWith('ERR_SSL_')) return undefined;
  return untrusted(
    url,
    {
      problem: `both sides agree on no way to encrypt (${code})`,
      hint: 'Signalbox needs TLS 1.2 or newer; look whether something between this machine and the broker changes the connection',
    },
    cause,
  );
}

/** The codes of Node for the numbers of OpenSSL that mean: the other side does not encrypt. */
const plainAnswers: Readonly<Record<string, string>> = {
  '0A00010B': 'ERR_SSL_WRONG_VERSION_NUMBER',
  '0A0000C6': 'ERR_SSL_PACKET_LENGTH_TOO_LONG',
};

/** Returns the code of an error. If it came while something was written, Node has the number of OpenSSL in the text only. */
function codeOf(cause: unknown): string {
  const code = errnoOf(cause) ?? '';
  const number = code === 'EPROTO' ? /:error:([0-9A-F]{8}):/.exec(messageOf(cause))?.[1] : undefined;
  return number === undefined ? code : (plainAnswers[number] ?? `ERR_SSL_${number}`);
}

/** Returns the error of a `ws://` connection that an encrypted port answered, or `undefined` for any other answer. */
export function plainProblem(url: string, response: IncomingMessage): SignalboxError | undefined {
  if (response.statusCode !== 426 || !/^TLS\//i.test(response.headers.upgrade ?? '')) return undefined;
  return clientError(
    'wrong_scheme',
    `can't connect to ${url}: the broker there takes encrypted connections only`,
    {
      details: { hint: `connect to ${url.replace(/^ws:/, 'wss:')}` },
    },
  );
}

function wrongName(url: string, cause: unknown): SignalboxError {
  const { cert } = cause as { cert?: PeerCertificate };
  const names = (cert?.subjectaltname ?? '').replaceAll(/(?:DNS|IP Address):/g, '');
  const isFor = names === '' ? 'it names no host' : `it is for ${names}`;
  return untrusted(
    url,
    {
      problem: `${isFor}, and not for ${new URL(url).hostname}`,
      hint: 'connect under a name of the certificate, or give the broker a certificate that also has this name',
    },
    cause,
  );
}

function untrusted(url: string, { problem, hint }: Refusal, cause: unknown): SignalboxError {
  return clientError(
    'untrusted_certificate',
    `nothing is sent to ${url}, since the certificate of the broker is not accepted: ${problem}`,
    { cause, details: { hint } },
  );
}
