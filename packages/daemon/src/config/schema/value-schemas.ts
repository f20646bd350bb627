import { ownPrefix } from '@signalbox/mcp-host/rules';
import { parseDuration, suggestion } from '@signalbox/protocol/internal';
import { longestTimerMs } from '@signalbox/serving';
import { z } from 'zod';
import { parseListenAddress } from '../listen-address.ts';

/** A number of things that may run or wait at once. */
export const limit = z.int().min(1).max(100_000);

/** A time in milliseconds. */
export const milliseconds = z.int().min(1).max(longestTimerMs);

/** A time in milliseconds, where 0 has a meaning of its own. */
export const millisecondsOrZero = z.int().min(0).max(longestTimerMs);

const durationProblem = { error: 'must be a number and s, m, h or d, as in 15m' };

/** A time as people write it, as in `15m`. */
export const duration = z
  .string(durationProblem)
  .refine((text) => parseDuration(text) !== undefined, durationProblem);

/** A text that is not empty and can stand in a path or an argument. */
export const nonEmpty = z
  .string()
  .min(1, { error: 'must not be empty' })
  .refine((text) => !text.includes('\0'), { error: 'must not contain a NUL character' });

/** The origin of web pages. */
export const originSchema = z
  .string()
  .refine((text) => /^https?:/.test(text) && URL.parse(text)?.origin === text, {
    error: 'must be scheme, host and port without a path, as in https://signalbox.example.com',
  });

/** A host and a port to listen on. */
export const listenSchema = z.string().refine((text) => parseListenAddress(text) !== undefined, {
  error: 'must be HOST:PORT, as in 127.0.0.1:7420',
});

/** An http or https URL. */
export const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' });

/** A text that goes to a server as it is, or a text with the decision whether it is a secret. */
export type ServerValue = string | { value: string; secret: boolean };

/** Returns the text of a value. */
export function textOf(value: ServerValue): string {
  return typeof value === 'string' ? value : value.value;
}

/** Accepts a text for a server, plain or as `{ value, secret }`. */
export const serverValue = z.union([z.string(), z.strictObject({ value: z.string(), secret: z.boolean() })], {
  error: ({ input }) => serverValueProblem(input),
});

const markedKeys = ['value', 'secret'] as const;

function serverValueProblem(input: unknown): string {
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    return 'must be a text (put it in quotes), or { value: TEXT, secret: true } or { value: TEXT, secret: false }';
  const unknown = Object.keys(input).find((key) => !(markedKeys as readonly string[]).includes(key));
  if (unknown !== undefined)
    return `'${unknown}' is not one of its keys${suggestion(unknown, markedKeys)}: an entry is a text, or has value and secret`;
  const { value, secret } = input as { value?: unknown; secret?: unknown };
  if (typeof value !== 'string') return 'value must be there, and be a text (put it in quotes)';
  return secret === undefined
    ? 'secret must be there: true if it is a secret, false if not'
    : 'secret must be true or false, without quotes';
}

/** Variables by name. */
export const variableValues = z.record(z.string(), serverValue);

/** HTTP headers by name. A header with a line break or another control character cannot be sent. */
export const headerValues = z.record(
  z.string(),
  serverValue.refine(
    (value) => [...textOf(value)].every((char) => char === '\t' || (char >= ' ' && char !== '\x7f')),
    {
      error:
        'must be one line without control characters; a file that it refers to may hold nothing but the value',
    },
  ),
);

/** The name of an environment variable, or a pattern with `*`. Variables of Signalbox itself can't be named. */
export const variablePattern = nonEmpty
  .refine((text) => !text.startsWith(ownPrefix), {
    error: 'must not name a variable of Signalbox: those hold tokens, and no server gets them; take it out',
  })
  .refine((text) => !text.includes('='), {
    error: 'must be the name of a variable, without a value; values belong under env',
  });

/** At most so many calls in so much time. */
export const budgetSchema = z.strictObject(
  {
    calls: z.int().min(1).max(1_000_000_000),
    perSeconds: z
      .int()
      .min(1)
      .max(Math.floor(longestTimerMs / 1000)),
  },
  { error: 'must be written as { calls: 100, perSeconds: 60 }' },
);

/** One path, or several. */
export const paths = z.union([nonEmpty, z.array(nonEmpty)], {
  error: 'must be a path, or a list of paths',
});

/** A server's own names of tools, or patterns with `*`. */
export const ownToolPatterns = z.array(nonEmpty);

/** The name of a tool, a pattern with `*`, or `server:tool`. */
export const toolPattern = nonEmpty.refine((text) => !/^:|^[^:]*:$/.test(text), {
  error: 'must name a server and a tool as server:tool; * stands for all of them',
});

/** Resources of a server, `SERVER:URI`. Both parts may hold `*`. */
export const resourcePatterns = z.array(
  nonEmpty.refine((text) => /^[^:]+:./s.test(text), {
    error: 'must name a server and a URI as SERVER:URI, as in files:file:///srv/docs/*',
  }),
);

const readOnlyRule = z.strictObject({ annotations: z.literal('readOnly') });

/** A rule of `roles.X.tools`: a pattern of tools, or all tools that only read. */
export const toolRules = z.array(
  z.union([toolPattern, readOnlyRule], {
    error: ({ input }) =>
      typeof input === 'string'
        ? 'must name a tool, or a server and a tool as server:tool; * stands for all of them'
        : 'must be a pattern of tools, or { annotations: readOnly }',
  }),
);

/** Names of tools, patterns with `*`, or `server:tool`. */
export const toolPatterns = z.array(toolPattern);
