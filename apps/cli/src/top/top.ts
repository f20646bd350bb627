import { setTimeout as wait } from 'node:timers/promises';
import { type Ranking, readTop, type Top } from '@signalbox/client/operator';
import { SignalboxError } from '@signalbox/protocol';
import { formatDuration } from '@signalbox/protocol/duration';
import { visibleLine } from '@signalbox/protocol/internal';
import { type ConnectedClient, withClient } from '../connection/connected-client.ts';
import { orchestratorOf, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { stopRequested } from '../process/stop-signals.ts';
import { byteSize } from '../terminal/byte-size.ts';
import { printJson, printLines, snakeKeys, tableLines } from '../terminal/output.ts';
import { cutText } from '../terminal/text-width.ts';
import { checkedTime, rankingLines, withNulls } from '../tools/top.ts';

/** The options of `signalbox top`. */
export interface TopFlags extends ToolsFlags {
  by: Ranking;
  since: number;
}

const everyMs = 2000;
/** Shows a screen of its own without a cursor; and puts back what was there before. */
const enter = '\x1b[?1049h\x1b[?25l';
const leave = '\x1b[?25h\x1b[?1049l';

/** Shows what happens now: once, or live on a terminal until the process is asked to end. */
export async function top({ by, since, ...flags }: TopFlags): Promise<void> {
  const lastMs = checkedTime(since);
  await withClient(flags, async (connected) => {
    const orchestrator = await orchestratorOf(connected, flags);
    const read = () => readTop(connected.client, orchestrator, { lastMs, by });
    if (flags.json) {
      const { tools, ...rest } = await read();
      return printJson(
        snakeKeys({ lastMs, by, ...rest, tools: Array.isArray(tools) ? tools.map(withNulls) : tools }),
      );
    }
    const lines = async () => topLines(await read(), connected.client.url, lastMs);
    if (process.stdout.isTTY) {
      connected.waits[Symbol.dispose]();
      await live(connected, () => lines().catch(whileAway));
    } else printLines(await lines());
  });
}

/** Shows in place of the figures why there are none, while the broker is away. */
function whileAway(error: unknown): string[] {
  if (error instanceof SignalboxError && error.retryable) return [error.message, 'Trying again …'];
  throw error;
}

/** Shows lines anew every two seconds, on a screen of their own, which is left in any case. */
async function live({ client }: ConnectedClient, lines: () => Promise<string[]>): Promise<void> {
  const { stdout } = process;
  const stop = stopRequested();
  const restore = (): void => {
    stdout.write(leave);
  };
  // Also if a second signal ends the process at once.
  process.once('exit', restore);
  stdout.write(enter);
  let shown = ['reading …'];
  const show = (): void => {
    const { rows = 24, columns = 80 } = stdout;
    const fitting = shown.slice(0, rows - 1).map((line) => cutText(visibleLine(line), columns));
    stdout.write(`\x1b[H${fitting.map((line) => `${line}\x1b[K`).join('\n')}\x1b[J`);
  };
  stdout.on('resize', show);
  try {
    for (;;) {
      const next = await Promise.race([lines(), stop]);
      if (typeof next === 'string') return;
      shown = next;
      show();
      const passed = await Promise.race([
        wait(everyMs, true, { ref: false }),
        stop,
        client.closed.then(() => true),
      ]);
      if (typeof passed === 'string') return;
    }
  } finally {
    stdout.off('resize', show);
    process.off('exit', restore);
    restore();
  }
}

/** Writes what happens now for people. `lastMs` is the time of which tools are ranked. */
function topLines({ broker, roles, tools }: Top, url: string, lastMs: number): string[] {
  const { storedPerMinute, settledPerMinute, deadPerMinute, refusedPerMinute } = broker;
  const sizes = [
    ...(broker.memoryBytes === undefined ? [] : [`memory ${byteSize(broker.memoryBytes)}`]),
    ...(broker.storeBytes === undefined ? [] : [`store ${byteSize(broker.storeBytes)}`]),
  ];
  return [
    `broker    ${[broker.name === undefined ? url : `${broker.name}, ${url}`, ...sizes].join(', ')}`,
    `a minute  ${rate(storedPerMinute)} stored, ${rate(settledPerMinute)} settled, ${rate(deadPerMinute)} dead letters, ${rate(refusedPerMinute)} refused`,
    '',
    ...(roles.length === 0
      ? ['no role is connected, and no message waits']
      : tableLines(
          ['ROLE', 'CONNECTED', 'WAITING', 'OLDEST'],
          roles.map(({ role, connections, waiting, oldestSeconds }) => [
            role,
            String(connections),
            String(waiting),
            oldestSeconds === undefined ? '-' : formatDuration(oldestSeconds * 1000),
          ]),
        )),
    '',
    ...toolLines(tools, lastMs),
  ];
}

function toolLines(tools: Top['tools'], lastMs: number): string[] {
  if (!Array.isArray(tools)) return [`the tools are not known: ${tools.missing}`];
  if (tools.length === 0) return [`no tool was called in the last ${formatDuration(lastMs)}`];
  return [`tools in the last ${formatDuration(lastMs)}`, ...rankingLines(tools)];
}

/** Writes a rate: few in tenths, many as a whole number. */
function rate(perMinute: number): string {
  return perMinute < 10
    ? String(Math.round(perMinute * 10) / 10)
    : Math.round(perMinute).toLocaleString('en');
}
