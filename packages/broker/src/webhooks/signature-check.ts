import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { HookSignature } from '@signalbox/protocol/internal';

/** The most by which the clocks of a sender of Standard Webhooks and of this machine may differ, in seconds. */
const toleranceSeconds = 5 * 60;

/** The result of checking a request: the sender's id of the delivery if there is one, or the reason why the request is refused. */
export type Verdict = { deliveryId: string | undefined } | { refusal: string };

/** Checks the proof of one request. The body is given piece by piece, so that no piece takes long. */
export interface SignatureCheck {
  update(piece: Buffer): void;
  /** Returns the verdict after the whole body. */
  verdict(): Verdict;
}

/**
 * Begins to check a request. The same work is done for every wrong request: the body is hashed, and as many bytes are compared. `now` is in
 * epoch milliseconds.
 */
export function checkSignature(
  { signature, key }: { signature: HookSignature; key: Buffer },
  headers: IncomingHttpHeaders,
  now: number,
): SignatureCheck {
  switch (signature) {
    case 'github':
      return githubCheck(key, headers);
    case 'standard':
      return standardCheck(key, headers, now);
    case 'bearer':
      return bearerCheck(key, headers);
  }
}

/** Checks `X-Hub-Signature-256`, the HMAC of the body in hex. */
function githubCheck(key: Buffer, headers: IncomingHttpHeaders): SignatureCheck {
  const hmac = createHmac('sha256', key);
  const given = /^sha256=([0-9a-f]{64})$/.exec(textOf(headers['x-hub-signature-256']) ?? '')?.[1];
  return {
    update: (piece) => void hmac.update(piece),
    verdict() {
      const isRight = isSame(hmac.digest(), Buffer.from(given ?? '', 'hex'));
      if (given === undefined)
        return { refusal: 'X-Hub-Signature-256 is missing, or is not sha256= and hex' };
      if (!isRight) return { refusal: 'X-Hub-Signature-256 does not match: the secrets differ' };
      return { deliveryId: textOf(headers['x-github-delivery']) };
    },
  };
}

/** Checks `webhook-signature`, a list of HMACs of id, time and body in base64, of which one must match. */
function standardCheck(key: Buffer, headers: IncomingHttpHeaders, now: number): SignatureCheck {
  const id = textOf(headers['webhook-id']);
  const at = textOf(headers['webhook-timestamp']);
  const given = (textOf(headers['webhook-signature']) ?? '')
    .split(' ')
    .flatMap((one) => /^v1,([A-Za-z0-9+/]{43}=)$/.exec(one)?.[1] ?? [])
    .map((text) => Buffer.from(text, 'base64'));
  const hmac = createHmac('sha256', key).update(`${id ?? ''}.${at ?? ''}.`);
  return {
    update: (piece) => void hmac.update(piece),
    verdict() {
      const right = hmac.digest();
      const matches = (given.length > 0 ? given : [Buffer.alloc(0)]).filter((one) => isSame(right, one));
      if (id === undefined) return { refusal: 'webhook-id is missing' };
      if (!isNear(at, now)) {
        return { refusal: `webhook-timestamp is missing, or is more than ${toleranceSeconds} s from now` };
      }
      if (given.length === 0) return { refusal: 'webhook-signature is missing, or has no signature v1' };
      if (matches.length === 0) return { refusal: 'webhook-signature does not match: the secrets differ' };
      return { deliveryId: id };
    },
  };
}

/** Checks `Authorization: Bearer`. The sender may name its delivery in `Idempotency-Key` or `webhook-id`. */
function bearerCheck(key: Buffer, headers: IncomingHttpHeaders): SignatureCheck {
  const given = /^Bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1];
  return {
    update() {},
    verdict() {
      const isRight = isSame(sha256(key), sha256(given ?? ''));
      if (given === undefined) return { refusal: 'Authorization: Bearer is missing' };
      if (!isRight) return { refusal: 'the token of Authorization: Bearer is another one' };
      return { deliveryId: textOf(headers['idempotency-key']) ?? textOf(headers['webhook-id']) };
    },
  };
}

function isNear(at: string | undefined, now: number): boolean {
  return at !== undefined && /^\d{1,12}$/.test(at) && Math.abs(Number(at) - now / 1000) <= toleranceSeconds;
}

/** Compares in a time that depends on neither buffer. A buffer of another length is also compared with something. */
function isSame(right: Buffer, given: Buffer): boolean {
  const hasLength = given.length === right.length;
  return timingSafeEqual(right, hasLength ? given : Buffer.alloc(right.length)) && hasLength;
}

function sha256(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest();
}

/** Returns the single value of a header. An empty value counts as missing. */
function textOf(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && header !== '' ? header : undefined;
}
