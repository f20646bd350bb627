/** The ways in which the sender of a webhook proves itself. */
export const hookSignatures = ['github', 'standard', 'bearer'] as const;

/** A way in which the sender of a webhook proves itself. */
export type HookSignature = (typeof hookSignatures)[number];

/** The fewest bytes of a secret: shorter ones can be guessed. */
const leastBytes = 16;

const standardSecret = /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/;

/**
 * Returns the bytes of a webhook's secret. With Standard Webhooks they are the base64 after `whsec_`. If the secret can't be used, returns
 * its problem, in words that do not show any part of it.
 */
export function hookSecret(signature: HookSignature, secret: string): { key: Buffer } | { problem: string } {
  const encoded = signature === 'standard' ? standardSecret.exec(secret)?.[1] : undefined;
  if (signature === 'standard' && encoded === undefined) {
    return { problem: "must be 'whsec_' and base64, as Standard Webhooks has it" };
  }
  if (signature === 'bearer' && !/^[!-~]*$/.test(secret)) {
    return { problem: 'must be printable ASCII without spaces, since it stands in a header' };
  }
  const key = encoded === undefined ? Buffer.from(secret) : Buffer.from(encoded, 'base64');
  if (key.length >= leastBytes) return { key };
  return { problem: `must have at least ${leastBytes} bytes, as from: openssl rand -hex 32` };
}
