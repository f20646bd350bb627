import { z } from 'zod';

/** Describes the operation with which a person signs in to the dashboard. */
export function signInOperation() {
  return {
    sign_in_link: {
      meaning:
        'Makes a code with which a browser signs in to the dashboard, once. This sign-in has the rights of this token and ends with it.',
      params: z.object({}),
      result: z.object({
        code: z.string(),
        expires_in_ms: z.number(),
        urls: z
          .array(z.string())
          .describe(
            'The addresses of the page: under the origins that the broker trusts, then under its own.',
          ),
      }),
    },
  };
}
