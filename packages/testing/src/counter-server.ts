import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type CallContext, serveStdioTools } from './stdio-mcp.ts';

/**
 * A stdio MCP server that writes a line of JSON to the file `COUNTER_FILE` for each of its actions, so that a test can tell what ran, how
 * often and in which process. Run it with plain `node`.
 */
const file = process.env.COUNTER_FILE;
if (!file) throw new Error('COUNTER_FILE must name the file to count in');

type Arguments = Record<string, unknown>;
type Run = (
  args: Arguments,
  context: CallContext,
) => Promise<Record<string, unknown>> | Record<string, unknown>;

function record(tool: string, args: Arguments, at: 'start' | 'end' | 'cancelled'): void {
  appendFileSync(file!, `${JSON.stringify({ tool, args, pid: process.pid, at })}\n`);
}

function countStarts(tool: string): number {
  const lines = readFileSync(file!, 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line)).filter((line) => line.tool === tool && line.at === 'start')
    .length;
}

const gate = { inFlight: 0, highWater: 0 };

const runs: Record<string, Run> = {
  count: () => ({ n: countStarts('count') }),
  echo: (args) => args,
  crash: () => process.exit(1),
  big: ({ bytes }) => ({ text: 'x'.repeat(Number(bytes ?? 0)) }),

  async slow({ ms, label = '' }, { signal, progress }) {
    const steps = 4;
    for (let step = 1; step <= steps; step++) {
      await delay(Number(ms ?? 0) / steps, undefined, { signal });
      // Progress is never sent right before the result, where some clients can't handle it.
      if (step < steps) progress?.({ progress: step, total: steps, message: `step ${step}${label}` });
    }
    return { slept: ms };
  },

  async gate({ calls, file: opener }, { signal }) {
    gate.inFlight++;
    gate.highWater = Math.max(gate.highWater, gate.inFlight);
    try {
      const isOpen = () =>
        (typeof calls === 'number' && gate.highWater >= calls) ||
        (typeof opener === 'string' && existsSync(opener));
      while (!isOpen()) await delay(5, undefined, { signal });
      return { highWater: gate.highWater };
    } finally {
      gate.inFlight--;
    }
  },
};

const number = { type: 'number' } as const;
const string = { type: 'string' } as const;

function tool(
  name: string,
  description: string,
  properties: Record<string, { type: string }>,
  annotations = {},
): object {
  return { name, description, inputSchema: { type: 'object', properties }, annotations };
}

const tools = [
  tool('count', 'Counts one up; not safe to repeat. Returns how often it has run.', {}),
  tool('slow', 'Waits; reports progress if asked; stops when cancelled.', { ms: number, label: string }),
  tool('echo', 'Returns its arguments.', {}, { readOnlyHint: true }),
  tool('crash', 'Ends the process.', {}),
  tool('big', 'Returns that many letters.', { bytes: number }, { readOnlyHint: true }),
  tool('gate', 'Waits until that many calls are in it at once, or a file exists.', {
    calls: number,
    file: string,
  }),
];

async function call(name: string, args: Arguments, context: CallContext): Promise<object> {
  const run = Object.hasOwn(runs, name) ? runs[name] : undefined;
  if (!run) return { isError: true, content: [{ type: 'text', text: `no tool '${name}'` }] };
  record(name, args, 'start');
  try {
    const structuredContent = await run(args, context);
    record(name, args, 'end');
    const text =
      typeof structuredContent.text === 'string' ? structuredContent.text : JSON.stringify(structuredContent);
    return { content: [{ type: 'text', text }], structuredContent: name === 'big' ? {} : structuredContent };
  } catch (error) {
    if (context.signal.aborted) record(name, args, 'cancelled');
    throw error;
  }
}

serveStdioTools({ name: 'counter', tools, call });
