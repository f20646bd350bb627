import { brokerNames, schemaNames, serverAddresses } from '@signalbox/postgres/settings';
import { kindSchema, limitsOf } from '@signalbox/protocol';
import { z } from 'zod';
import { keptByDefault } from './kept-by-default.ts';
import { brokerLimitsSchema } from './limits-schema.ts';
import { listenSchema, milliseconds, nonEmpty, originSchema } from './value-schemas.ts';

const postgresAddress = nonEmpty.superRefine((text, context) => {
  const read = serverAddresses(text);
  if ('problem' in read) context.addIssue(`is no address of a database: ${read.problem}`);
});

const schemaName = z.string().regex(schemaNames.pattern, { error: schemaNames.problem });

const brokerName = z.string().regex(brokerNames.pattern, { error: brokerNames.problem });

const MiB = 1024 * 1024;

/** Kinds whose bodies are arguments and results of tools. */
const toolKinds = new Set(['mcp_request', 'mcp_reply', 'progress']);

const keepBodiesSchema = z.union(
  [
    z.boolean(),
    z.strictObject({
      kinds: z
        .array(
          kindSchema.refine((kind) => !toolKinds.has(kind), {
            error:
              'must not be a kind of tool calls: their arguments and results are never kept; take it out',
          }),
        )
        .min(1)
        .optional(),
      ageMs: milliseconds.min(60_000).optional(),
      bytes: z
        .int()
        .min(MiB)
        .max(64 * 1024 * MiB)
        .optional(),
    }),
  ],
  {
    error:
      'must be true or false, or say what to keep, as in { kinds: [note, ask], ageMs: 86400000, bytes: 268435456 }; kinds are no tool calls, ageMs is at least 60000, bytes at least 1048576',
  },
);

const brokerKeys = z.strictObject({
  listen: listenSchema.optional().describe('HOST:PORT; default 127.0.0.1:7420, port 0 takes any free one'),
  socket: z
    .boolean()
    .optional()
    .describe('whether to listen on the Unix socket broker.sock in the data directory, too; default true'),
  data: nonEmpty
    .optional()
    .describe('data directory, relative to this file; default $XDG_STATE_HOME/signalbox'),
  durability: z
    .enum(['full', 'process'])
    .optional()
    .describe(
      'full (default): on disk before the receipt; process: survives a crash of the broker, not a power cut',
    ),
  store: z
    .strictObject({
      postgres: postgresAddress.describe(
        'keeps messages, tokens and the audit log in this database, as in postgres://user@host/database, with the password from a reference to the environment; of several hosts (user@one,two/database) the first one is used that takes changes. Default: files of the data directory',
      ),
      direct: postgresAddress
        .optional()
        .describe(
          'the address of the server itself, if postgres leads to a pooler: one connection waits there for news of other brokers; without it the broker looks each 250 ms',
        ),
      schema: schemaName
        .optional()
        .describe(
          'the schema of the database; the brokers that name the same one serve one namespace; default signalbox',
        ),
      name: brokerName
        .optional()
        .describe(
          'the name of the broker among those that share the schema; default the name of the machine with a part of the id of the data directory',
        ),
      link: z
        .union([listenSchema, z.literal(false)], {
          error: 'must be HOST:PORT, as in 127.0.0.1:7421, or false',
        })
        .optional()
        .describe(
          'HOST:PORT at which other brokers tell this one directly what they have stored for it, encrypted; default any free port of the host of listen; false: only through the database',
        ),
    })
    .optional(),
  metrics: z
    .enum(['token', 'open'])
    .optional()
    .describe(
      'who may read /metrics and /readyz?verbose: token (default) is an operator or observer by its token; open is everybody on this machine, for a listen address on loopback without trustedOrigins',
    ),
  tls: z
    .strictObject({
      cert: nonEmpty.describe(
        'certificate (PEM, with the certificates of authorities between it and the root) that encrypts what goes over host and port; relative to this file, and read again when it changes',
      ),
      key: nonEmpty.describe(
        'its private key (PEM, without passphrase), which no other user may read; relative to this file',
      ),
    })
    .optional(),
  trustedOrigins: z
    .array(originSchema)
    .optional()
    .describe(
      'addresses under which web pages and, through a proxy, clients reach the broker and worker.http, as in https://signalbox.example.com',
    ),
  keepBodies: keepBodiesSchema
    .optional()
    .describe(
      'whether the bodies of messages stay readable after these were settled, with signalbox thread: true, false (default), or { kinds, ageMs, bytes }, with the defaults note, ask, reply and task, a day (86400000), and 256 MiB (268435456); never those of tool calls',
    ),
  limits: brokerLimitsSchema.optional(),
});

/** The section `broker`. */
export const brokerSchema = brokerKeys.check(({ value, issues }) => {
  const { keepBodies, limits } = value;
  const kept =
    typeof keepBodies === 'object' ? (keepBodies.bytes ?? keptByDefault.bytes) : keptByDefault.bytes;
  const { bytes } = limitsOf(undefined, limits).store;
  if (!keepBodies || kept <= bytes / 8) return;
  const message = `must be at most an eighth of broker.limits.store.bytes, since words and copies take room, too: it is ${kept}, of ${bytes}`;
  const path = typeof keepBodies === 'object' ? ['keepBodies', 'bytes'] : ['keepBodies'];
  issues.push({ code: 'custom', input: value, path, message });
});
