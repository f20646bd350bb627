import { createHash, randomBytes } from 'node:crypto';

/** 32 random bytes in base64url: the secret part of a token. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** SHA-256 of a token's text in hex: the only form in which it is kept. */
export function hashToken(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
