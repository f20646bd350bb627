import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { probeInstructions, probeTools } from './probe-mcp-content.ts';

type Json = Record<string, unknown>;

/**
 * A small MCP server that writes down what its client tells it, in the file that it is given. It speaks revisions up to 2025-11-25.
 * It writes the lines of the protocol itself, so that nothing stands between the client and the record.
 */
const [log = '', kind = 'probe'] = process.argv.slice(2);
const note = (entry: Json): void => appendFileSync(log, `${JSON.stringify(entry)}\n`);
const send = (message: Json): void =>
  void process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

/** The longest time for which a question and a changed list may stay without an answer, and a call without a second one beside it. */
const patienceMs = 4_000;
/** The time for which the process stays after it was told to end, so that it sees what follows. */
const lingerMs = 400;

let hasLateTool = false;
const together: (() => void)[] = [];
const answers = new Map<string, (answer: unknown) => void>();
let onListed = (): void => {};

note({ started: kind, cwd: process.cwd(), variables: Object.keys(process.env) });
createInterface({ input: process.stdin })
  .on('line', (line) => void handle(JSON.parse(line)))
  .on('close', () => end('stdin closed'));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => end(signal));

/** Notes each sign of the end. The first one begins the time after which the process leaves. */
function end(how: string): void {
  note({ ended: how });
  setTimeout(() => process.exit(0), lingerMs);
}

async function handle(message: Json): Promise<void> {
  note({ message });
  const { id, method, params } = message as { id?: unknown; method?: string; params?: Json };
  if (method === undefined) answers.get(String(id))?.(message.error ?? message.result);
  else if (id !== undefined) send({ id, ...(await answerTo(method, params ?? {})) });
}

async function answerTo(method: string, params: Json): Promise<Json> {
  switch (method) {
    case 'initialize':
      return {
        result: {
          protocolVersion: params.protocolVersion,
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: kind, version: '1.0.0' },
          ...(kind === 'probe' && { instructions: probeInstructions }),
        },
      };
    case 'ping':
      return { result: {} };
    case 'tools/list':
      onListed();
      return { result: { tools: probeTools(kind, hasLateTool) } };
    case 'tools/call':
      return await call(String(params.name));
    default:
      return { error: { code: -32601, message: `no method ${method}` } };
  }
}

async function call(name: string): Promise<Json> {
  switch (name) {
    case 'structured':
      return {
        result: { content: [text('in words')], structuredContent: { words: 'as data' } },
      };
    case 'blocks':
      return {
        result: {
          content: [
            text('first'),
            { type: 'resource_link', uri: 'probe://linked', name: 'linked' },
            {
              type: 'resource',
              resource: { uri: 'probe://embedded', mimeType: 'text/plain', text: 'embedded text' },
            },
            {
              type: 'resource',
              resource: { uri: 'probe://blob', mimeType: 'application/zip', blob: 'AAAA' },
            },
          ],
          _meta: { 'probe/note': 'in _meta' },
        },
      };
    case 'fails':
      return { result: { isError: true, content: [text('it failed')] } };
    case 'refuses':
      return { error: { code: -32050, message: 'refused by the probe', data: { why: 'as data' } } };
    case 'asks': {
      const asked = {
        message: 'Go on?',
        requestedSchema: { type: 'object', properties: { sure: { type: 'boolean' } } },
      };
      note({ asked: await ask('elicitation/create', asked) });
      note({ listedRoots: await ask('roots/list', {}) });
      return { result: { content: [text('asked')] } };
    }
    case 'grows': {
      hasLateTool = true;
      const listed = Promise.withResolvers<boolean>();
      onListed = () => listed.resolve(true);
      send({ method: 'notifications/tools/list_changed' });
      await within(listed.promise, false);
      return { result: { content: [text('grown')] } };
    }
    case 'together_read':
    case 'together_write': {
      const both = Promise.withResolvers<boolean>();
      together.push(() => both.resolve(true));
      if (together.length === 2) for (const resolve of together.splice(0)) resolve();
      const isBeside = await within(both.promise, false);
      together.length = 0;
      note({ [`beside ${name}`]: isBeside });
      return { result: { content: [text('together')] } };
    }
    case 'large':
      return { result: { content: [text('0123456789'.repeat(10_000))] } };
    case 'dies':
      return process.exit(1);
    default:
      return { result: { content: [text('first'), text('second')] } };
  }
}

function text(words: string): Json {
  return { type: 'text', text: words };
}

/** Sends a request to the client, and returns its result or its error. */
function ask(method: string, params: Json): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  answers.set(method, resolve);
  send({ id: method, method, params });
  return within(promise, 'no answer');
}

function within<T>(promise: Promise<T>, otherwise: T): Promise<T> {
  const late = Promise.withResolvers<T>();
  const timer = setTimeout(() => late.resolve(otherwise), patienceMs);
  return Promise.race([promise, late.promise]).finally(() => clearTimeout(timer));
}
