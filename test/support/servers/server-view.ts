import type { McpClient } from '../worker/mcp-client.ts';

type Json = Record<string, unknown>;

/** What a client sees of a server. */
export interface ServerView {
  handshake: Json;
  /** The entries of each list by their names, and the order of the names. Empty lists are left out. */
  lists: Record<string, { order: string[]; entries: Json }>;
  /** The errors of lists that the server declares and does not have. */
  refusedLists: Json;
  /** The answers to requests by their texts. */
  answers: Json;
}

/** A request that is sent to a server directly and through Signalbox. */
interface PlannedRequest {
  what: 'call' | 'incomplete call' | 'unknown tool' | 'prompt' | 'resource' | 'unknown resource';
  method: string;
  params: Json;
}

const lists = [
  { method: 'tools/list', field: 'tools', key: 'name', capability: 'tools' },
  { method: 'prompts/list', field: 'prompts', key: 'name', capability: 'prompts' },
  { method: 'resources/list', field: 'resources', key: 'uri', capability: 'resources' },
  {
    method: 'resources/templates/list',
    field: 'resourceTemplates',
    key: 'uriTemplate',
    capability: 'resources',
  },
] as const;

/** The most tools, prompts and resources of a server that are used, each. */
const mostUsed = 8;
const limits = { timeout: 30_000 };
const sampleId = '00000000-0000-4000-8000-000000000000';

/** Reads handshake and lists, and sends some requests: those of `plan`, or else some that the lists suggest. */
export async function viewOf(
  client: McpClient,
  options: { isOwn: (name: string) => boolean; skipped: readonly string[]; plan?: PlannedRequest[] },
): Promise<ServerView & { plan: PlannedRequest[] }> {
  const sdk = client.client;
  const capabilities: Json = { ...sdk.getServerCapabilities() };
  const handshake = {
    revision: sdk.getNegotiatedProtocolVersion(),
    capabilities,
    instructions: sdk.getInstructions(),
    serverInfo: sdk.getServerVersion(),
  };
  const view: ServerView = { handshake, lists: {}, refusedLists: {}, answers: {} };
  for (const { method, field, key, capability } of lists) {
    if (capabilities[capability] === undefined) continue;
    const listed = await allOf(client, method, field).catch(({ code, message }) => {
      view.refusedLists[field] = { code, message };
      return [];
    });
    const entries = listed
      .filter((one) => !options.isOwn(String(one[key])))
      .map((one) => [String(one[key]), one] as const);
    if (entries.length > 0)
      view.lists[field] = { order: entries.map(([name]) => name), entries: Object.fromEntries(entries) };
  }
  const plan = options.plan ?? planOf(view, options.skipped);
  for (const request of plan) {
    const answer = await client
      .request(request.method, request.params, limits)
      .catch(({ code, message, data }) => ({ error: { code, message, data } }));
    view.answers[`${request.what} ${JSON.stringify(request.params)}`] = answer;
  }
  return { ...view, plan };
}

async function allOf(client: McpClient, method: string, field: string): Promise<Json[]> {
  const all: Json[] = [];
  let cursor: unknown;
  do {
    const page = await client.request(method, cursor === undefined ? {} : { cursor });
    all.push(...(page[field] as Json[]));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return all;
}

/** Chooses requests that every server should answer, with a result or an error. */
function planOf({ lists: { tools, prompts, resources } }: ServerView, skipped: readonly string[]) {
  const plan: PlannedRequest[] = [];
  const called = (tools?.order ?? []).filter((name) => !skipped.includes(name)).slice(0, mostUsed);
  for (const name of called) {
    const { inputSchema } = tools!.entries[name] as { inputSchema: Json };
    plan.push({ what: 'call', method: 'tools/call', params: { name, arguments: valueFor(inputSchema) } });
    if (Array.isArray(inputSchema.required) && inputSchema.required.length > 0)
      plan.push({ what: 'incomplete call', method: 'tools/call', params: { name, arguments: {} } });
  }
  if (tools)
    plan.push({
      what: 'unknown tool',
      method: 'tools/call',
      params: { name: 'no_such_tool', arguments: {} },
    });
  for (const name of (prompts?.order ?? []).slice(0, mostUsed)) {
    const { arguments: wanted = [] } = prompts!.entries[name] as { arguments?: { name: string }[] };
    const args = Object.fromEntries(wanted.map((one) => [one.name, 'text']));
    plan.push({ what: 'prompt', method: 'prompts/get', params: { name, arguments: args } });
  }
  for (const uri of (resources?.order ?? []).slice(0, mostUsed))
    plan.push({ what: 'resource', method: 'resources/read', params: { uri } });
  if (resources)
    plan.push({
      what: 'unknown resource',
      method: 'resources/read',
      params: { uri: 'none://no/such/resource' },
    });
  return plan;
}

/** Makes a value that fits the usual parts of a schema, with required properties only. */
function valueFor(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return 'text';
  const { type, default: preset, enum: allowed, const: only, anyOf, oneOf, ...rest } = schema as Json;
  if (preset !== undefined) return preset;
  if (only !== undefined) return only;
  if (Array.isArray(allowed)) return allowed[0];
  for (const choice of [anyOf, oneOf]) if (Array.isArray(choice) && !type) return valueFor(choice[0]);
  const {
    properties = {},
    required = [],
    items,
    minItems = 0,
    minimum = 1,
    minLength = 0,
    pattern,
    format,
  } = rest as Parts;
  switch (Array.isArray(type) ? type[0] : type) {
    case 'object':
      return Object.fromEntries(required.map((name) => [name, valueFor(properties[name])]));
    case 'array':
      return Array.from({ length: minItems }, () => valueFor(items));
    case 'number':
    case 'integer':
      return minimum;
    case 'boolean':
      return false;
    case 'null':
      return null;
    default:
      if (format === 'uri') return 'http://127.0.0.1:9/';
      return pattern && new RegExp(pattern).test(sampleId) ? sampleId : 'text'.padEnd(minLength, '.');
  }
}

/** The parts of a schema that {@link valueFor} reads. */
interface Parts {
  properties?: Json;
  required?: string[];
  items?: unknown;
  minItems?: number;
  minimum?: number;
  minLength?: number;
  pattern?: string;
  format?: string;
}
