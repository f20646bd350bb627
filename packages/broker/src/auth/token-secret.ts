import { createHash, randomBytes } from 'node:crypto';

/** Makes the secret part of a token: 32 random bytes in base64url. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Hashes the text of a token (SHA-256, in hex). Only the hash is stored. */
export function hashToken(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
