import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AgentCli } from './agent-clis.ts';
import { type ModelNotes, nameOf, type Step, startScriptedModel } from './model-server.ts';
import { probeInstructions, probeNames } from './probe-mcp-content.ts';
import { type ClientPlace, prepare, runToEnd } from './run-client.ts';
import { showsTool } from './tool-names.ts';

type Json = Record<string, unknown>;

const probeMain = fileURLToPath(new URL('./probe-server-main.ts', import.meta.url));

/** The calls that the model makes of the probe, each when it has read the result of the one before. */
const probeSteps: readonly Step[] = [
  ...['texts', 'structured', 'blocks', 'fails', 'refuses', 'asks', 'grows', 'large'].map((tool) => [
    { tool },
  ]),
  [{ tool: 'schemas', args: { a_const: 'only' } }],
  ...probeNames.map((tool) => [{ tool }]),
  [{ tool: 'together_read' }, { tool: 'together_read' }],
  [{ tool: 'together_write' }, { tool: 'together_write' }],
  [{ tool: 'late' }],
  [{ tool: 'dies' }],
  [{ tool: 'lives' }],
];

/** The entries of the log of a probe. */
interface ProbeLog {
  starts: { cwd: string; variables: string[] }[];
  messages: Json[];
  notes: Json;
  ended: string[];
}

async function readProbeLog(path: string): Promise<ProbeLog> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const entries: Json[] = text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  return {
    starts: entries.filter(({ started }) => started) as unknown as ProbeLog['starts'],
    messages: entries.flatMap(({ message }) => (message ? [message as Json] : [])),
    notes: Object.assign(
      {},
      ...entries.filter(({ started, message, ended }) => !started && !message && !ended),
    ),
    ended: entries.flatMap(({ ended }) => (ended ? [String(ended)] : [])),
  };
}

/** The actions of a client on the probe, and the texts that its model was told of it. */
export interface DirectRecord {
  /** The requests before the first call, with their parameters. */
  handshake: { method: string; params?: unknown }[];
  /** The first call. */
  call: unknown;
  /** The methods of everything that it sent later, calls left out. */
  later: string[];
  /** Its answers to questions of the server. */
  asked: unknown;
  roots: unknown;
  besideEachOther: { readOnly: boolean; others: boolean };
  /** Variables that the server inherits, of one with a usual name and one with a secret one. */
  inherits: { plain: boolean; secret: boolean };
  worksIn: string;
  ended: string[];
  startsAgain: boolean;
  isListed: boolean;
  /** The names under which the tools are shown, by the server's names; `null` if the model is not told of one. */
  names: Record<string, string | null>;
  /** The characters of the instructions that the first request to the model holds, and all of them. */
  instructions: { read: number; of: number };
  /** The schema of the probe's tool `schemas`, as the model is told of it. */
  schema: unknown;
  /** The number of characters that the model reads of a result of 100,000. */
  readOfLarge: number;
  /** The texts that the model reads of each call, as its client sends them. */
  read: Record<string, unknown>;
}

/** Runs a client on a probe and on one that can die, and returns what was seen. Rejects if it made no call. */
export async function runDirectly(cli: AgentCli, place: ClientPlace): Promise<DirectRecord> {
  await using model = await startScriptedModel(probeSteps);
  const log = (kind: string) => join(place.temporary, `${kind}.log`);
  const entry = (kind: string) => ({
    command: process.execPath,
    args: [probeMain, log(kind), kind],
    env: {},
  });
  const { args, env } = await prepare(place, [
    cli.model(model.url, place.home),
    cli.servers({ probe: entry('probe'), mortal: entry('mortal') }, place.home),
  ]);
  const argv = [cli.name, ...args, ...cli.prompt('Use the tools.')];
  const output = await runToEnd(argv, place, { ...env, PROBE_PLAIN: '1', PROBE_TOKEN: '1' });
  const seen = directRecord(await readProbeLog(log('probe')), await readProbeLog(log('mortal')), model);
  const record = cli.ending ? { ...seen, ended: [cli.ending] } : seen;
  if (record.call === undefined)
    throw new Error(`it made no call of the probe, and said: ${output.slice(-2_000)}`);
  return record;
}

function directRecord(probe: ProbeLog, mortal: ProbeLog, model: ModelNotes): DirectRecord {
  const requests = probe.messages.filter(({ method }) => method !== undefined);
  const firstCall = requests.findIndex(({ method }) => method === 'tools/call');
  const before = requests.slice(0, firstCall === -1 ? undefined : firstCall);
  const shown = (tool: string) => [...model.tools.values()].find(({ name }) => showsTool(name, tool));
  const beside = (tool: string): boolean => besideOf(probe, tool);
  const [start] = probe.starts;
  const results = readResults(probeSteps, model);
  return {
    handshake: before.map(({ method, params }) => ({
      method: String(method),
      ...(params !== undefined && { params }),
    })),
    call: requests[firstCall]?.params,
    later: [...new Set(requests.slice(before.length).map(({ method }) => String(method)))].filter(
      (method) => method !== 'tools/call',
    ),
    asked: probe.notes.asked,
    roots: probe.notes.listedRoots,
    besideEachOther: { readOnly: beside('together_read'), others: beside('together_write') },
    inherits: {
      plain: start?.variables.includes('PROBE_PLAIN') ?? false,
      secret: start?.variables.includes('PROBE_TOKEN') ?? false,
    },
    worksIn: start?.cwd ?? '',
    // Two of them may come at once.
    ended: probe.ended.toSorted(),
    startsAgain: mortal.starts.length > 1,
    isListed: model.first.some(({ name }) => showsTool(name, 'texts')),
    names: Object.fromEntries(
      ['texts', ...probeNames, 'late'].map((tool) => {
        const found = shown(tool);
        return [tool, found ? nameOf(found) : null];
      }),
    ),
    instructions: { read: readOf(probeInstructions, model.sent.slice(0, 1)), of: probeInstructions.length },
    schema: shown('schemas')?.schema,
    readOfLarge: 10 * JSON.stringify(results.large).split('0123456789').length - 10,
    read: results,
  };
}

/** The texts that the model read of each call, by its tool. */
export function readResults(steps: readonly Step[], { read }: ModelNotes): Record<string, unknown> {
  return Object.fromEntries(
    steps.flatMap((step, at) =>
      step.slice(0, 1).map(({ tool }, nth) => [tool, read.get(`${at}.${nth}`) ?? null]),
    ),
  );
}

function besideOf({ notes }: ProbeLog, tool: string): boolean {
  return (notes[`beside ${tool}`] as boolean | undefined) ?? false;
}

/** Returns how many characters of a text the model was sent from its beginning. Its lines may end otherwise there. */
function readOf(text: string, sent: readonly string[]): number {
  const lines = text.split('\n');
  const missing = lines.findIndex((line) => !sent.some((one) => one.includes(line)));
  if (missing === -1) return text.length;
  const whole = lines.slice(0, missing).join('\n').length;
  const [cut = ''] = lines.slice(missing);
  let length = cut.length;
  // A few characters could be those of any other text.
  while (length > 20 && !sent.some((one) => one.includes(cut.slice(0, length)))) length -= 1;
  return length > 20 ? whole + '\n'.length + length : whole;
}
