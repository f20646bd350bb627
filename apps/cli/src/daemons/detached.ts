import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync, readdirSync, renameSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { brokerKeeper, checkDataDirectory } from '@signalbox/daemon/data-directory';
import { type ChildReport, errorOf, type Failure } from '@signalbox/daemon/supervisor';
import { SignalboxError } from '@signalbox/protocol';
import { ownCommand } from '../process/own-command.ts';
import { withdrawOnSignal } from '../process/stop-signals.ts';
import { printJson, printLines, printNotes } from '../terminal/output.ts';
import { shellWords } from '../terminal/shell-words.ts';
import { addressesOf } from './broker-address.ts';
import { readiness } from './orchestrator-lines.ts';
import type { UpPlan } from './plan-request.ts';

/** The line that `signalbox up --json` prints when all is ready. */
interface UpReady {
  broker: { pid: number; url: string; socket?: string; data: string };
  orchestrator: { pid: number; tools: number; servers: unknown[]; not_ready: { server: string }[] };
  face?: { pid: number };
  a2a?: { agents: Record<string, string> };
}

/** The log, in the data directory. */
const logName = 'up.log';
/** A log that is longer is put aside at the next start. */
const longestLog = 10 * 1024 * 1024;

/**
 * Starts `signalbox up` with the same options, and returns when all is ready. It goes on without this process and its terminal, and logs
 * into its data directory. Standard error shows `starting`, and then the states of servers. Rejects with the failure that the command
 * reports, or with its end.
 */
export async function upDetached(
  { dataDir, where, exposed }: Pick<UpPlan, 'dataDir' | 'where' | 'exposed'>,
  starting: string,
  { json }: { json?: boolean },
): Promise<void> {
  await checkDataDirectory(dataDir);
  const log = join(dataDir, logName);
  const firstMade = mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const own = ownCommand();
  const options = process.argv.slice(2).filter((word) => word !== '--detach' && word !== '--json');
  using withdrawal = withdrawOnSignal();
  const child = spawn(own.command, [...own.args, ...options, '--json'], {
    detached: true,
    stdio: ['ignore', 'pipe', openLogFile(log, dataDir), 'ipc'],
  });
  const tell = (...lines: string[]): void => {
    if (!json) printNotes(...lines);
  };
  tell(...exposed.map((text) => `warning: ${text}`), starting);
  child.on('message', (report: ChildReport) => {
    if ('progress' in report) tell(...(report.progress.lines as string[]));
  });
  withdrawal.signal.addEventListener('abort', () => child.kill('SIGTERM'));
  const clear = (): boolean => clearRefused(dataDir, firstMade);
  const ready = await reportOf(child, { log, clear, withdrawn: withdrawal.signal });
  child.disconnect();
  child.unref();
  child.stdout!.destroy();
  if (json) return printJson({ ...ready, pid: child.pid, log });
  const { broker, orchestrator, a2a } = ready;
  const { tools, servers, not_ready: notReady } = orchestrator;
  const { isReady, text } = readiness({ tools, servers, notReady });
  const missing = notReady.map(({ server }) => server);
  printLines(
    `signalbox up ${isReady ? 'is ready' : 'runs'}, as process ${child.pid}: broker at ${addressesOf(broker)}, ${text}`,
    ...(missing.length > 0 ? [`  not ready: ${missing.join(', ')}; see: ${command('servers', where)}`] : []),
    ...Object.values(a2a?.agents ?? {}).map((url) => `  agent ready for clients of A2A at ${url}`),
    `  data   ${broker.data}`,
    `  log    ${log}`,
    `End it with: ${command('down', where)}`,
  );
}

function command(name: string, where: readonly string[]): string {
  return shellWords('signalbox', name, ...where);
}

/** Opens the log to write at its end. The file of a running `up` stays where it is. */
function openLogFile(log: string, dataDir: string): number {
  const size = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
  if (size > longestLog && brokerKeeper(dataDir) === undefined) renameSync(log, `${log}.1`);
  return openSync(log, 'a', 0o600);
}

/**
 * Removes the log if a refused start has left nothing else, and the directories that were made for it, from `firstMade` on. Else a backup could
 * not be restored there. Returns true if the log is gone.
 */
function clearRefused(dataDir: string, firstMade: string | undefined): boolean {
  if (readdirSync(dataDir).some((name) => name !== logName)) return false;
  rmSync(join(dataDir, logName), { force: true });
  for (let made = dataDir; firstMade !== undefined && made.startsWith(firstMade); made = dirname(made))
    rmdirSync(made);
  return true;
}

/** Resolves with the report of a child that is ready. Rejects with the failure that it prints, or if it ends without one. */
async function reportOf(
  child: ChildProcess,
  { log, clear, withdrawn }: { log: string; clear: () => boolean; withdrawn: AbortSignal },
): Promise<UpReady> {
  let text = '';
  child.stdout!.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  const line = new Promise<void>((resolve) =>
    child.stdout!.on('data', () => text.includes('\n') && resolve()),
  );
  const ended = once(child, 'close') as Promise<[code: number | null, signal: NodeJS.Signals | null]>;
  const end = await Promise.race([line, ended]);
  if (text === '') {
    const [code, signal] = end ?? [];
    throw new SignalboxError(
      'not_ready',
      `signalbox up ended before it was ready (${signal ?? `exit code ${code}`})`,
      {
        details: { hint: `see its log: ${log}`, ...(withdrawn.aborted && { interrupted: true }) },
      },
    );
  }
  const report = JSON.parse(text.slice(0, text.indexOf('\n'))) as UpReady | { error: Failure };
  if (!('error' in report)) return report;
  await ended;
  if (clear()) throw errorOf(report.error);
  const { hint } = report.error;
  const its = `its log: ${log}`;
  throw errorOf({ ...report.error, log, hint: typeof hint === 'string' ? `${hint}; ${its}` : its });
}
