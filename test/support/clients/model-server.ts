import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dialects, type ListedTool, type ModelCall } from './model-dialects.ts';
import { showsTool } from './tool-names.ts';

type Json = Record<string, unknown>;

/** One answer of the scripted model: calls of tools by the names that their server gives them. `once`: not again without a result. */
export type Step = readonly { tool: string; args?: Json; once?: true }[];

/** The texts that the model was told and read. */
export interface ModelNotes {
  /** All tools that were listed to it, the last listing of each. */
  readonly tools: ReadonlyMap<string, ListedTool>;
  /** The tools of the first listing. */
  readonly first: readonly ListedTool[];
  /** All that it was sent, as JSON. */
  readonly sent: readonly string[];
  /** The texts that it read of each call, as the client sent them, by step and place in the step: `0.0`. */
  readonly read: ReadonlyMap<string, unknown>;
}

/** A local imitation of the APIs of models, behind which a script answers. Disposing it stops it. */
export interface ScriptedModel extends AsyncDisposable, ModelNotes {
  readonly url: string;
  /** The number of requests that it refused. */
  readonly refused: number;
}

/** Says how the model takes a request now: it refuses it with a status of HTTP, answers it never, or as usual. */
export type Mood = number | 'silent' | 'usual';

/**
 * Starts it. The model takes the steps in turn, each when it has read the results of the one before. A tool that is not in its list is
 * looked for once with the client's own search for tools, and left out if it is not found.
 */
export async function startScriptedModel(
  steps: readonly Step[],
  mood: () => Mood = () => 'usual',
): Promise<ScriptedModel> {
  const [tools, read] = [new Map<string, ListedTool>(), new Map<string, unknown>()];
  const made = new Set<string>();
  let refused = 0;
  const sent: string[] = [];
  const first: ListedTool[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    const body = await bodyOf(request);
    const dialect = dialects.find((one) => one.path.test(path));
    if (!dialect || request.method !== 'POST') {
      response.writeHead(path.endsWith('/models') ? 200 : 404, { 'content-type': 'application/json' });
      response.end(path.endsWith('/models') ? '{"object":"list","data":[]}' : '{}');
      return;
    }
    const now = mood();
    if (now === 'silent') return;
    if (typeof now === 'number') {
      refused++;
      response.writeHead(now, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({ type: 'error', error: { type: 'imitated', message: `imitated ${now}` } }),
      );
      return;
    }
    const { tools: listed, results, isStream } = dialect.read(body, path);
    let calls: ModelCall[] = [];
    // Without tools the client asks for something beside the conversation, such as a title.
    if (listed.length > 0) {
      sent.push(JSON.stringify(body));
      if (first.length === 0) first.push(...listed);
      for (const tool of [...listed, ...declared(results)]) tools.set(nameOf(tool), tool);
      for (const [id, value] of results) read.set(id.replace('call_', '').replace('_', '.'), value);
      calls = nextCalls(steps, { listed, results, made });
    }
    const { whole, events } = dialect.answer(calls, calls.length > 0 ? '' : 'All is done.');
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
    if (!isStream) response.end(JSON.stringify(whole));
    for (const [name, data] of isStream ? events : []) {
      const text = typeof data === 'string' ? data : JSON.stringify(data);
      response.write(`${name ? `event: ${name}\n` : ''}data: ${text}\n\n`);
    }
    response.end();
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((error) => response.writeHead(500).end(String(error)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    tools,
    first,
    sent,
    read,
    get refused() {
      return refused;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The name by which a model calls a tool, with that of its group. */
export function nameOf({ name, namespace }: ListedTool): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** Returns the calls of the first step that has one without a result, or a search for one of its tools. */
function nextCalls(
  steps: readonly Step[],
  {
    listed,
    results,
    made,
  }: { listed: readonly ListedTool[]; results: ReadonlyMap<string, unknown>; made: Set<string> },
): ModelCall[] {
  const found = declared(results);
  const search = listed.find(({ name }) => /^tool_?search$/i.test(name));
  const relay = listed.find(({ name }) => name === 'tool_call');
  for (const [at, step] of steps.entries()) {
    const calls: ModelCall[] = [];
    for (const [nth, { tool, args = {}, once }] of step.entries()) {
      const [id, searchId] = [`call_${at}_${nth}`, `search_${at}_${nth}`];
      if (results.has(id) || (once && made.has(id))) continue;
      const known = listed.find(({ name }) => showsTool(name, tool));
      const declaration = found.find(({ name }) => showsTool(name, tool));
      if (known) calls.push({ ...known, id, args });
      else if (relay && declaration)
        calls.push({ ...relay, id, args: { name: declaration.name, arguments: args } });
      else if (search && !results.has(searchId)) return [{ ...search, id: searchId, args: { query: tool } }];
    }
    for (const { id } of calls) made.add(id);
    if (calls.length > 0) return calls;
  }
  return [];
}

/** Returns the tools that the result of a search for tools declares in its text. */
function declared(results: ReadonlyMap<string, unknown>): ListedTool[] {
  const searches = [...results].filter(([id]) => id.startsWith('search_'));
  return searches.flatMap(([, result]) => {
    const texts = Array.isArray(result) ? result.map(({ text }) => String(text)) : [String(result)];
    const declarations = texts.flatMap((text) => [...text.matchAll(/<function>(\{.*\})<\/function>/g)]);
    return declarations.map(([, json]) => {
      const { name, parametersJsonSchema } = JSON.parse(json!);
      return { name, schema: parametersJsonSchema };
    });
  });
}

async function bodyOf(request: IncomingMessage): Promise<Json> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  return text === '' ? {} : JSON.parse(text);
}
