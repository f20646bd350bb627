import { z } from 'zod';

/** A text that is not empty. */
export const text = z.string().min(1, { error: 'must not be empty' });

/** A text without line breaks. */
export const oneLine = text.regex(/^[^\r\n\0]*$/, { error: 'must be a single line' });

/** The name of a header that a request may set. */
export const headerName = text
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, { error: 'is not the name of a header' })
  .regex(/^(?!(?:host|connection|content-length|transfer-encoding|upgrade|expect|te|trailer|keep-alive)$)/i, {
    error: 'is set by the connection itself; leave it out',
  });

/** A number of seconds above 0. */
export function seconds(max: number) {
  return z.number().positive().max(max);
}
