import { setTimeout as wait } from 'node:timers/promises';
import { type Ranking, readTop } from '@signalbox/client/operator';
import { SignalboxError } from '@signalbox/protocol';
import { visibleLine } from '@signalbox/protocol/internal';
import { type ConnectedClient, withClient } from '../connection/connected-client.ts';
import { orchestratorOf, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { stopRequested } from '../process/stop-signals.ts';
import { printJson, printLines, snakeKeys } from '../terminal/output.ts';
import { cutText } from '../terminal/text-width.ts';
import { checkedTime, withNulls } from '../tools/top.ts';
import { topLines } from './top-lines.ts';

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
    const read = () => readTop(connected.client, orchestratorOf(connected, flags), { lastMs, by });
    if (flags.json) {
      const { tools, ...rest } = await read();
      return printJson(
        snakeKeys({ lastMs, by, ...rest, tools: Array.isArray(tools) ? tools.map(withNulls) : tools }),
      );
    }
    const lines = async () => topLines(await read(), connected.client.url, lastMs);
    if (process.stdout.isTTY) await live(connected, () => lines().catch(whileAway));
    else printLines(await lines());
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
