import { createHash, randomBytes } from 'node:crypto';

/** Makes the secret part of a token: 32 random bytes in base64url. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Hashes a token's text (SHA-256, hex). Tokens are kept in no other form. */
export function hashToken(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
