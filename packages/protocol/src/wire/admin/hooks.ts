import { z } from 'zod';
import { hookSignatures } from '../../webhooks/hook-secret.ts';

/** Describes the operation that lists webhooks. */
export function hookOperation() {
  const hook = z
    .object({
      name: z.string(),
      to: z.string(),
      kind: z.string(),
      signature: z.enum(hookSignatures),
      urls: z
        .array(z.string())
        .describe('Under the origins that the broker trusts, then under its own address.'),
      stored: z.int().describe('Deliveries that were stored since the broker started.'),
      repeated: z.int().describe('Deliveries since then that had been stored before.'),
      refused: z.int().describe('Deliveries since then that were refused.'),
      delivered_at: z.number().optional().describe('When one was last stored or repeated since then.'),
      last_refusal: z
        .object({ at: z.number(), reason: z.string() })
        .optional()
        .describe('The last one that was refused since then.'),
    })
    .meta({ id: 'Webhook', title: 'webhook', description: 'A webhook and what came to it.' });
  return {
    hooks: {
      meaning:
        'Lists the webhooks of the configuration, without their secrets, and counts what came to each.',
      params: z.object({}),
      result: z.object({ hooks: z.array(hook) }),
    },
  };
}
