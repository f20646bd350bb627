import { EventEmitter, once } from 'node:events';
import { existsSync, readFileSync, watch, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

/**
 * An agent that speaks ACP. A message whose body is a JSON list of steps says what it does in that turn, and words on the command line say
 * what it does otherwise: `no-load`, `no-resume`, `no-list`, `unlisted` (it never lists tools), `late` (it lists them after its answer),
 * `deaf` (it ignores signals and the end of its input), `signed-out`, `version-2`, `loses` (it knows no session any more), `broken-load`.
 * Its sessions are in a file of the home directory.
 */
type Json = ReturnType<typeof JSON.parse>;

const words = new Set(process.argv.slice(2));
const file = join(homedir(), 'acp-sessions.json');
const send = (message: Json): void =>
  void process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const update = (sessionId: string, told: Json): void =>
  send({ method: 'session/update', params: { sessionId, update: told } });
const chunk = (sessionId: string, text: string, messageId?: string): void =>
  update(sessionId, { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text }, messageId });

let sessions: Json = {};
try {
  sessions = JSON.parse(readFileSync(file, 'utf8'));
} catch {
  // It has had none.
}
let [mode, heard, lastId] = ['auto', [] as string[], 0];
const hearing = new EventEmitter();
let mcp: Client | undefined;
let meta: Json;
const answers = new Map<number, (answer: Json) => void>();
const cancelled = Promise.withResolvers<void>();
const allOptions = ['allow_always', 'allow_once', 'reject_once'].map((kind) => ({
  optionId: `id-${kind}`,
  name: kind,
  kind,
}));

if (words.has('deaf')) {
  process.on('SIGTERM', () => {});
  setInterval(() => {}, 1000);
}

async function openMcp([server]: Json[]): Promise<void> {
  if (!server) return;
  const { command, args, env } = server;
  mcp = new Client({ name: 'acp-agent', version: '1.0.0' });
  const variables = Object.fromEntries(env.map(({ name, value }: Json) => [name, value]));
  const path = { PATH: process.env.PATH ?? '', HOME: homedir() };
  await mcp.connect(
    new StdioClientTransport({ command, args, env: { ...path, ...variables }, stderr: 'ignore' }),
  );
  if (!words.has('unlisted')) await mcp.listTools();
}

async function opened({ sessionId, mcpServers, _meta }: Json): Promise<Json> {
  meta = _meta;
  const opening = openMcp(mcpServers);
  if (!words.has('late')) await opening;
  const modes = {
    currentModeId: mode,
    availableModes: ['auto', 'default', 'plan'].map((id) => ({ id, name: id })),
  };
  return { sessionId, modes };
}

async function continued(params: Json): Promise<Json> {
  const { sessionId } = params;
  if (words.has('broken-load')) throw { code: -32603, message: 'the session could not be read' };
  if (words.has('loses') || sessions[sessionId] === undefined)
    throw { code: -32002, message: 'no such session' };
  return await opened(params);
}

const methods: Record<string, (params: Json) => unknown> = {
  initialize: ({ protocolVersion, clientCapabilities }) => {
    if (protocolVersion !== 1 || clientCapabilities.fs || clientCapabilities.terminal)
      throw { code: -32602, message: 'wrong offers' };
    const offered = (word: string) => (words.has(`no-${word}`) ? {} : { [word]: {} });
    return {
      protocolVersion: words.has('version-2') ? 2 : 1,
      agentCapabilities: {
        loadSession: !words.has('no-load'),
        sessionCapabilities: { ...offered('resume'), ...offered('list') },
      },
      agentInfo: { name: 'acp-agent', version: '1.0.0' },
    };
  },
  'session/new': async (params) => {
    if (words.has('signed-out')) throw { code: -32000, message: 'Authentication required' };
    const sessionId = `session-${Object.keys(sessions).length + 1}`;
    sessions[sessionId] = 0;
    return await opened({ ...params, sessionId });
  },
  'session/resume': continued,
  'session/load': async (params) => {
    const answer = await continued(params);
    for (let at = 0; at < 10_000; at++) chunk(params.sessionId, `replayed ${at}`);
    return answer;
  },
  'session/list': () => ({
    sessions: words.has('loses') ? [] : Object.keys(sessions).map((sessionId) => ({ sessionId, cwd: '/' })),
  }),
  'session/set_mode': ({ modeId }) => {
    mode = modeId;
    return {};
  },
  'session/prompt': async ({ sessionId, prompt }) => {
    const { text } = prompt[0];
    const turns = ++sessions[sessionId];
    writeFileSync(file, JSON.stringify(sessions));
    const steps = /^\| (\[.*\])$/m.exec(text)?.[1];
    if (prompt.length !== 1) throw { code: -32602, message: 'one block, please' };
    if (steps === undefined) {
      const denied = /^In the turn before.*$/m.exec(text)?.[0];
      chunk(sessionId, `${sessionId}, turn ${turns}, mode ${mode}, echo ${await echoed()}`);
      if (denied !== undefined) chunk(sessionId, `, ${denied}`);
      return { stopReason: 'end_turn' };
    }
    for (const step of JSON.parse(steps) as Json[]) {
      const end = await take(sessionId, step);
      if (end) return end;
    }
    return { stopReason: 'end_turn' };
  },
};

async function echoed(): Promise<string> {
  return mcp ? await used({ tool: 'mcp_everything__echo', args: { message: 'hello' } }) : 'none';
}

/** Uses a tool, and returns the text of the result. */
async function used({ tool, args }: Json): Promise<string> {
  const { content } = await mcp!.callTool({ name: tool, arguments: args });
  return (content as { text: string }[])[0]!.text;
}

function ask(sessionId: string, toolCall: Json): Promise<string> {
  const id = ++lastId;
  const { promise, resolve } = Promise.withResolvers<Json>();
  answers.set(id, resolve);
  const params = { sessionId, toolCall, options: toolCall.options ?? allOptions };
  send({ id, method: 'session/request_permission', params });
  return promise.then(({ result, error }) => {
    const { outcome, optionId } = result?.outcome ?? { outcome: `error ${error?.code}` };
    heard.push(optionId ?? outcome);
    hearing.emit('heard');
    return optionId ?? outcome;
  });
}

/** Waits for a file in the home directory. */
async function fileAtHome(name: string): Promise<void> {
  const watcher = watch(homedir());
  while (!existsSync(join(homedir(), name))) await once(watcher, 'change');
  watcher.close();
}

/** Does one step of a turn. Returns the end of the turn if the step is its end. */
async function take(sessionId: string, step: Json): Promise<Json | undefined> {
  const [name = ''] = Object.keys(step);
  const value = step[name];
  switch (name) {
    case 'text':
      chunk(sessionId, value, step.id);
      return undefined;
    case 'update':
      update(sessionId, value);
      return undefined;
    case 'ask':
      await Promise.all([value].flat().map((one: Json) => ask(sessionId, one)));
      return undefined;
    case 'asking':
      void ask(sessionId, value);
      return undefined;
    case 'call':
      if (value.once !== undefined) {
        if (existsSync(join(homedir(), value.once))) return undefined;
        writeFileSync(join(homedir(), value.once), '');
      }
      chunk(sessionId, await used(value));
      return undefined;
    case 'callLater':
      void fileAtHome(value.when).then(async () => {
        const end = await used(value).catch(String);
        writeFileSync(join(homedir(), value.result), end);
      });
      return undefined;
    case 'heard':
      chunk(sessionId, `heard ${heard.join(' ')}`, value === true ? undefined : value);
      return undefined;
    case 'meta':
      chunk(sessionId, JSON.stringify(meta), value);
      return undefined;
    case 'when':
      await fileAtHome(value);
      return undefined;
    case 'untilHeard':
      while (heard.length < value) await once(hearing, 'heard');
      return undefined;
    case 'untilCancelled':
      await cancelled.promise;
      if (value === 'asks') await ask(sessionId, { toolCallId: 'late', title: 'late', rawInput: { a: 1 } });
      writeFileSync(join(homedir(), 'cancelled.txt'), heard.join(' '));
      return { stopReason: 'cancelled' };
    case 'raw':
      process.stdout.write(`${value}\n`);
      return undefined;
    case 'long':
      process.stdout.write('x'.repeat(value));
      process.stdout.write('\n');
      return undefined;
    case 'exit':
      process.stderr.write('no money\n');
      process.exit(value);
      break;
    case 'error':
      throw value;
    case 'stop':
      return { stopReason: value, usage: step.usage };
    default:
      throw { code: -32602, message: `no step ${name}` };
  }
  return undefined;
}

const lines = createInterface({ input: process.stdin });
lines.on('line', async (line) => {
  const message = JSON.parse(line) as Json;
  const { id, method, params } = message;
  if (method === undefined) return answers.get(id)?.(message);
  if (method === 'session/cancel') return cancelled.resolve();
  try {
    send({ id, result: await methods[method]?.(params) });
  } catch (error) {
    const { code = -32603, message: text = String(error), data } = error as Json;
    send({ id, error: { code, message: text, data } });
  }
});
lines.on('close', () => {
  if (!words.has('deaf')) process.exit(0);
});
