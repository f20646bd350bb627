import { z } from 'zod';
import { headerName, oneLine, text } from '../schema-parts.ts';

const key = text
  .regex(/^(env:[A-Za-z_][A-Za-z0-9_]*|file:[^#]+(#.+)?)$/, {
    error: 'must be env:VARIABLE, file:PATH or file:PATH#FIELD; the secret itself does not belong here',
  })
  .describe('Where the secret is: env:VARIABLE, file:PATH or file:PATH#FIELD.');
const prefix = oneLine
  .optional()
  .describe('Put before the secret; a space follows it if it ends in a letter or a digit.');

/** The schema of `auth`: the source of a secret, and its place in a request. */
export const authSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('bearer'), key, prefix }),
  z.strictObject({ type: z.literal('header'), key, header: headerName, prefix }),
  z.strictObject({ type: z.literal('query'), key, param: text }),
  z.strictObject({ type: z.literal('basic'), key }),
]);

/** The `auth` of a tool or of a provider, as a capability file has it. */
export type AuthDocument = z.infer<typeof authSchema>;
