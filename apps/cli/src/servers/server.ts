import type { ServerReport, ServerRequest } from '@signalbox/protocol';
import { askOrchestrator, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { restartText } from '../status/degradations.ts';
import { exitCodes } from '../terminal/exit-codes.ts';
import { printJson, printLines } from '../terminal/output.ts';
import { serverSummary, startFailureLines, stderrLines } from './server-report.ts';

/** An action on a server. */
export type ServerAction = ServerRequest['op'];

/** A start may take long, because npx fetches packages first; it is given up after a minute unless its server says otherwise. */
const timeoutMs = 90_000;

/** Reloads, stops or starts a server and prints its state. Exit code 1 says that it should be up and is not. */
export async function changeServer(action: ServerAction, name: string, flags: ToolsFlags): Promise<void> {
  const { server } = await askOrchestrator(flags, { op: action, server: name }, timeoutMs);
  const hasFailed = action !== 'stop' && !isUp(server);
  if (hasFailed) process.exitCode = exitCodes.failed;
  if (flags.json) return printJson({ server });
  printLines(outcome(action, server), ...failureLines(action, server));
  if (!hasFailed) return;
  // Its entry may have been mended in a file that is not read again by itself.
  const { restart_needed: waiting } = await askOrchestrator(flags, { op: 'servers' });
  if (waiting) printLines(restartText(waiting, Date.now()));
}

/** The lines of standard error that show why a start failed. */
const shownStderrLines = 20;

function failureLines(action: ServerAction, server: ServerReport): string[] {
  if (action === 'stop' || isUp(server)) return [];
  return [...startFailureLines(server.start_failure), ...stderrLines(server.stderr_tail, shownStderrLines)];
}

/** Counts `idle` as up: an unshared server starts with the first call of its role or worker. */
function isUp({ state }: ServerReport): boolean {
  return state === 'ready' || state === 'idle';
}

function outcome(action: ServerAction, server: ServerReport): string {
  const { name, state } = server;
  return action === 'stop' && state === 'stopped'
    ? `${name} is stopped; start it again with: signalbox servers start ${name}`
    : serverSummary(server);
}
