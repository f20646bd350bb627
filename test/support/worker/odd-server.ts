import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { type HttpEndpoint, startEndpoint } from '../mcp-host/http-endpoint.ts';

type Json = Record<string, unknown>;

export type OddRevision = '2025-11-25' | '2026-07-28';

/** The messages that an odd server sends, by method and key. */
export interface OddCases {
  /** Results. A list holds the entries of all keys, or of the key that `_meta.only` names. Another answer has the key that the request names. */
  results: Record<string, Record<string, Json>>;
  /** The members beside `jsonrpc` and `id` of answers that are no results. */
  outcomes: Record<string, Json>;
  /** The messages that come before a result. */
  notes: Record<string, unknown[]>;
  /** The result that begins a connection, in place of the usual one. */
  handshake?: Json;
}

interface Incoming {
  id?: number;
  method?: string;
  params?: {
    name?: string;
    uri?: string;
    arguments?: { key?: string };
    _meta?: { only?: string; progressToken?: number };
  };
}

const listFields: Record<string, string> = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
};
const usual = {
  capabilities: { tools: {}, prompts: {}, resources: {} },
  serverInfo: { name: 'odd', version: '1' },
};
/** The members that every result of the revision has. */
const ofRevision: Record<OddRevision, Json> = {
  '2025-11-25': {},
  '2026-07-28': { resultType: 'complete', ttlMs: 0, cacheScope: 'private' },
};
const handshakes: Record<string, { revision: OddRevision; agreed: Json }> = {
  initialize: { revision: '2025-11-25', agreed: { protocolVersion: '2025-11-25' } },
  'server/discover': { revision: '2026-07-28', agreed: { supportedVersions: ['2026-07-28'] } },
};

/** Returns the messages with which the server answers one, the answer last; none to a notification. */
function answersTo(
  cases: OddCases,
  revision: OddRevision,
  { id, method = '', params = {} }: Incoming,
): unknown[] {
  if (id === undefined) return [];
  const answer = (outcome: Json) => ({ jsonrpc: '2.0', id, ...outcome });
  const unknown = answer({ error: { code: -32601, message: `no ${method}` } });
  const result = (own: Json) => answer({ result: { ...ofRevision[revision], ...own } });
  const handshake = handshakes[method];
  if (handshake) {
    if (handshake.revision !== revision) return [unknown];
    return [result(cases.handshake ?? { ...handshake.agreed, ...usual })];
  }
  const ofMethod = cases.results[method] ?? {};
  const field = listFields[method];
  const only = params._meta?.only;
  if (field !== undefined)
    return [result({ [field]: only === undefined ? Object.values(ofMethod) : [ofMethod[only]] })];
  const key = params.arguments?.key ?? params.uri ?? '';
  const outcome = cases.outcomes[key];
  if (outcome) return [answer(outcome)];
  const token = JSON.stringify(params._meta?.progressToken ?? null);
  const notes = (cases.notes[key] ?? []).map((note) =>
    JSON.parse(JSON.stringify(note).replaceAll('"TOKEN"', token)),
  );
  const own = ofMethod[key] ?? (cases.notes[key] && { content: [{ type: 'text', text: 'told' }] });
  return own ? [...notes, result(own)] : [unknown];
}

/** Serves cases over HTTP at any path; `casesOf` tells which. */
export function startOddServer(
  revision: OddRevision,
  casesOf: (path: string) => OddCases | undefined,
): Promise<HttpEndpoint> {
  return startEndpoint(async (request) => {
    const cases = casesOf(new URL(request.url).pathname);
    if (request.method !== 'POST' || !cases) return new Response(null, { status: 405 });
    const messages = answersTo(cases, revision, (await request.json()) as Incoming);
    if (messages.length === 0) return new Response(null, { status: 202 });
    const [answer] = messages;
    if (messages.length === 1) {
      const isUnknown = (answer as { error?: { code?: unknown } }).error?.code === -32601;
      return Response.json(answer, { status: isUnknown && revision === '2026-07-28' ? 404 : 200 });
    }
    const events = messages.map((message) => `event: message\ndata: ${JSON.stringify(message)}\n\n`);
    return new Response(events.join(''), { headers: { 'content-type': 'text/event-stream' } });
  });
}

/** As a process it serves standard input: the cases of the file `CASES_FILE`, in the revision `REVISION`. */
const { CASES_FILE: file, REVISION: revision = '2025-11-25' } = process.env;
if (file !== undefined) {
  const cases = JSON.parse(readFileSync(file, 'utf8')) as OddCases;
  createInterface({ input: process.stdin }).on('line', (line) => {
    for (const message of answersTo(cases, revision as OddRevision, JSON.parse(line) as Incoming))
      process.stdout.write(`${JSON.stringify(message)}\n`);
  });
}
