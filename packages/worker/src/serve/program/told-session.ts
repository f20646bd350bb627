import { z } from 'zod';

/** Accepts the id of a session that a program reported. It becomes a word of a command line, so it never begins with a dash. */
export const sessionIdSchema = z.string().regex(/^[A-Za-z0-9][\w-]{0,127}$/);
