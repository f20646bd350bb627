import { hostLabelPattern, questionKinds } from '@signalbox/protocol';
import { z } from 'zod';
import { transportOf } from './transport.ts';
import {
  headerValues,
  httpUrl,
  limit,
  milliseconds,
  millisecondsOrZero,
  nonEmpty,
  ownToolPatterns,
  serverValue,
  variablePattern,
  variableValues,
} from './value-schemas.ts';

const secret = nonEmpty.refine((text) => !/[\r\n]/.test(text), { error: 'must be one line' });

const oauthClient = {
  issuer: httpUrl.optional().describe('found through the server unless given'),
  tokenUrl: httpUrl.optional().describe('found through the issuer unless given'),
  clientId: nonEmpty.optional(),
  clientSecret: secret.optional(),
  scope: nonEmpty.optional().describe('scopes, with blanks between them'),
  resource: z
    .union([httpUrl, z.literal('')])
    .optional()
    .describe("RFC 8707 resource; the server's url unless given, none if empty"),
};

/** The ways to log in to an HTTP server. Secrets belong in `${env:NAME}` or `${file:path}`. */
const serverAuthSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('bearer'), token: secret }).describe('a fixed token'),
  z
    .strictObject({
      type: z.literal('client_credentials'),
      ...oauthClient,
      clientId: nonEmpty,
      clientSecret: secret,
    })
    .describe('RFC 6749 section 4.4'),
  z
    .strictObject({
      type: z.literal('token_exchange'),
      ...oauthClient,
      clientId: nonEmpty,
      subjectToken: secret,
      subjectTokenType: nonEmpty.optional(),
      audience: nonEmpty.optional(),
    })
    .refine(({ issuer, tokenUrl }) => issuer !== undefined || tokenUrl !== undefined, {
      error: "needs 'issuer' or 'tokenUrl': the subject token must not go where the server points",
    })
    .describe('RFC 8693'),
  z
    .strictObject({
      type: z.literal('authorization_code'),
      ...oauthClient,
      authorizationUrl: httpUrl.optional().describe('found through the issuer unless given'),
    })
    .describe('a person signs in once, with: signalbox servers auth SERVER'),
]);

/** The transport of a server; some clients write `streamable-http` for http. */
const transport = z.enum(['stdio', 'http', 'streamable-http']);

/** The options that Signalbox adds, for every transport. The MCP host has the defaults. */
const policyShape = {
  share: z
    .enum(['all', 'role', 'worker'])
    .optional()
    .describe(
      'all (default), role or worker: one process for everybody, for each role, or for each worker, for servers that keep state',
    ),
  lazy: z.boolean().optional().describe('true: started by the first call instead of at once'),
  keepAliveMs: millisecondsOrZero
    .optional()
    .describe('how long a lazy or unshared one stays up unused; 0 for ever, default 300000'),
  maxRestarts: z
    .int()
    .min(0)
    .max(10_000)
    .optional()
    .describe('restarts within restartWindowMs after which it stays down until it is reloaded; default 5'),
  restartWindowMs: milliseconds.optional().describe('time in which restarts are counted; default 300000'),
  startTimeoutMs: milliseconds
    .optional()
    .describe('how long it may take to start and list its tools, downloads included; default 60000'),
  downWaitMs: millisecondsOrZero
    .optional()
    .describe('how long a call waits for it once two starts in a row have failed; default 5000'),
  circuitThreshold: z
    .int()
    .min(1)
    .max(10_000)
    .optional()
    .describe('transport failures in a row that open the circuit breaker; default 5'),
  circuitResetMs: milliseconds.optional().describe('how long the circuit then stays open; default 30000'),
  concurrency: limit
    .optional()
    .describe('calls that run on it at once; default orchestrator.concurrency.perServer'),
  timeoutMs: milliseconds.optional().describe('longest run of one call; no limit unless given'),
  protocol: z
    .enum(['legacy', 'auto'])
    .optional()
    .describe(
      'auto asks for the current revision first, and in the older way if that fails or lists nothing; default auto for http, and for stdio that refuses legacy',
    ),
  questions: z
    .array(z.enum(questionKinds))
    .max(questionKinds.length)
    .optional()
    .describe(
      'what a server of a revision up to 2025-11-25 may ask its callers; default [elicitation, sampling]; roots too only with share: worker',
    ),
  disabled: z.boolean().optional().describe('true: known by name, but not started'),
  tool_discovery: z
    .boolean()
    .optional()
    .describe('false: its tools can be called by their exact names, but are not listed'),
  includeTools: ownToolPatterns
    .optional()
    .describe("the server's own tool names, or patterns with *, that are shown; default all"),
  excludeTools: ownToolPatterns
    .optional()
    .describe("the server's own tool names, or patterns with *, that are not, even if includeTools has them"),
  prefix: z
    .boolean()
    .optional()
    .describe('false: its tools are shown under their own names, without mcp_SERVER__'),
  definitions: z
    .enum(['follow', 'pin'])
    .optional()
    .describe(
      'pin: a tool or prompt whose definition changes is withheld until it is accepted; default follow',
    ),
  card: nonEmpty
    .optional()
    .describe('path or URL of a server card, which lists its tools before it has started'),
  safeToRepeat: ownToolPatterns
    .optional()
    .describe(
      "the server's own tool names, or patterns with *, that may be called again after a call with an unknown outcome",
    ),
  neverRepeat: ownToolPatterns
    .optional()
    .describe(
      "the server's own tool names, or patterns with *, that must not, even if safeToRepeat or the server allows it",
    ),
};

const bytes = z
  .int()
  .min(1)
  .max(1024 * 1024 * 1024);

/** The bounds of what a server may send, as the entry of a server or of all servers writes them. */
export const serverLimitsSchema = z.strictObject({
  toolBytes: bytes
    .max(960 * 1024)
    .optional()
    .describe(
      'bytes of the definition of one tool, prompt, resource or template as JSON; a larger one is left out; default 65536',
    ),
  tools: limit.optional().describe('tools that are shown; further ones are left out; default 1000'),
  toolListBytes: bytes
    .optional()
    .describe(
      'bytes of the definitions of all its tools, and of each other list; further ones are left out; default 4194304',
    ),
  prompts: limit.optional().describe('prompts that are shown; further ones are left out; default 1000'),
  resources: limit
    .optional()
    .describe('resources, and templates, that are shown; further ones are left out; default 10000'),
  answerBytes: bytes
    .optional()
    .describe(
      'bytes of one message from it, decompressed; default 8388608 for http, 33554432 for stdio, whose process ends over it',
    ),
});

const entryShape = z.strictObject({
  type: transport
    .optional()
    .describe('stdio, or http, which is the default if there is a url; streamable-http is the same as http'),
  transport_type: transport.optional().describe('the same as type'),
  command: z
    .string({
      error: 'must be one text, the program; what follows it goes into args, as in args: [server.js]',
    })
    .pipe(nonEmpty)
    .optional()
    .describe(
      'program of a server that is run here; if it begins with ./ or ../ and there is no cwd, relative to the file',
    ),
  args: z
    .array(serverValue)
    .optional()
    .describe('arguments of the command; each a text, or { value, secret: true or false } as in env'),
  env: variableValues
    .optional()
    .describe(
      'environment variables of the command; each a text, or { value, secret: true or false }, which decides whether it is a secret',
    ),
  inheritEnv: z
    .array(variablePattern)
    .optional()
    .describe(
      'further variables of the orchestrator that the command gets: names, or patterns with *, which leave out secrets',
    ),
  cwd: nonEmpty
    .optional()
    .describe('working directory of the command, relative to the file; default the directory of the file'),
  leaveDetached: z
    .boolean()
    .optional()
    .describe('true: processes that it moved out of its process group stay when it ends'),
  url: httpUrl.optional().describe('address of a server behind HTTP'),
  headers: headerValues
    .optional()
    .describe('HTTP headers of every request; each a text, or { value, secret: true or false }'),
  auth: serverAuthSchema
    .optional()
    .describe('bearer, client_credentials, token_exchange or authorization_code'),
  host: z
    .string()
    .regex(hostLabelPattern, {
      error: 'must be lower-case letters, digits, _ and - (at most 32), beginning with a letter or a digit',
    })
    .optional()
    .describe(
      'label of the orchestrator that hosts it: one that reads this file, or without command and url one with a file of its own',
    ),
  ...policyShape,
  limits: serverLimitsSchema
    .optional()
    .describe('what it may send: the keys of orchestrator.limits.perServer, each in place of that one'),
});

/**
 * A server as an entry of `mcpServers` is written. Unknown keys and those of the other transport are errors. An entry that does not
 * say how its server is reached is a refinement: it settles the other keys of an imported server.
 */
export const mcpServerSchema = entryShape.check((checked) => {
  if (!isRefinement(checked.value)) addProblems(checked);
});

/** A server as another client's file writes it, after its keys have been renamed to ours: it says how it is reached. */
export const importedServerSchema = entryShape.check(addProblems);

/** The content of an entry of `mcpServers`. */
export type McpServerEntry = z.infer<typeof entryShape>;

/** The name of an MCP server. */
export const serverNameSchema = z
  .string()
  .min(1, { error: 'must not be empty' })
  .max(64, { error: 'must have at most 64 characters' })
  .refine((name) => !/\p{Cc}/u.test(name), { error: 'must not contain control characters' });

const foreignKeys = {
  stdio: ['url', 'headers', 'auth'],
  http: ['command', 'args', 'env', 'inheritEnv', 'cwd', 'leaveDetached'],
} as const;

/** Returns true for an entry that says nothing of how its server is reached. */
export function isRefinement({ host, type, transport_type, command, args, url }: McpServerEntry): boolean {
  return [host, type, transport_type, command, args, url].every((value) => value === undefined);
}

function addProblems({ value, issues }: z.core.ParsePayload<McpServerEntry>): void {
  for (const { at, message } of entryProblems(value)) {
    issues.push({ code: 'custom', input: value, path: at, message });
  }
}

/** Lists what keeps an entry from being a server, with the keys that lead to it. */
export function entryProblems(entry: McpServerEntry): { at: string[]; message: string }[] {
  const { host, type, transport_type, headers = {}, auth, command, url } = entry;
  const isElsewhere = host !== undefined && command === undefined && url === undefined;
  if (type && transport_type && isHttp(type) !== isHttp(transport_type)) {
    return [{ at: ['transport_type'], message: `contradicts type '${type}'; keep one of the two` }];
  }
  const transport = transportOf(entry);
  const needed = transport === 'stdio' ? 'command' : 'url';
  const problems: { at: string[]; message: string }[] = [];
  if (entry[needed] === undefined && !isElsewhere)
    problems.push({ at: [], message: `a ${transport} server needs '${needed}'` });
  for (const key of foreignKeys[transport]) {
    if (entry[key] !== undefined)
      problems.push({ at: [key], message: `does not belong to a ${transport} server` });
  }
  const fixed = Object.keys(headers).find((name) => name.toLowerCase() === 'authorization');
  if (auth && fixed !== undefined)
    problems.push({ at: ['headers', fixed], message: "contradicts 'auth'; keep one of the two" });
  return problems;
}

function isHttp(transport: string): boolean {
  return transport !== 'stdio';
}
