import type { ServerReport, StartFailureReport } from '@signalbox/protocol';
import { formatElapsed } from '@signalbox/protocol/duration';
import { count, linesOf, oneLine } from '../terminal/output.ts';
import { shellWords } from '../terminal/shell-words.ts';

/** Writes the state of a server on one line. */
export function serverSummary({ name, state, tool_count, pid, last_error }: ServerReport): string {
  if (state === 'ready')
    return `${name} is ready: ${count(tool_count, 'tool')}${pid === undefined ? '' : `, process ${pid}`}`;
  if (state === 'idle') return `${name} is idle: the first call starts it`;
  return `${name} is ${state}${last_error === undefined ? '' : `: ${last_error}`}`;
}

/** Writes a time of calls, or `-` if none was measured. */
export function tookText(ms: number | undefined): string {
  if (ms === undefined) return '-';
  return ms < 1000 ? `${Math.round(ms)} ms` : formatElapsed(ms);
}

/** The advice to an operator for each state that needs some. */
const remedies: Partial<Record<ServerReport['state'], string>> = {
  ejected: 'it failed and stays down; once the cause is repaired: signalbox servers reload',
  refused: 'take it out of mcpServers, or out of the file that mcpConfig names',
  queued: 'its start waits for its turn, or for a free place among the processes',
  needs_auth: 'a person has to sign in with: signalbox servers auth',
  stopped: 'start it with: signalbox servers start',
  disabled: 'take disabled out of its configuration to use it',
};

/** Writes all facts about a server, with the end of its standard error. */
export function serverDetails(server: ServerReport): string[] {
  const remedy = remedies[server.state];
  const command = remedy?.includes('signalbox') ? `${remedy} ${server.name}` : remedy;
  const facts: [string, string | undefined][] = [
    ['state', command === undefined ? server.state : `${server.state}: ${command}`],
    [
      'transport',
      server.host === undefined
        ? `${server.transport}, one for ${shared[server.share]}${server.lazy ? ', lazy' : ''}`
        : `hosted by the orchestrator with the label ${server.host}`,
    ],
    ['running', instancesText(server)],
    ['starting', server.starting_ms === undefined ? undefined : `for ${formatElapsed(server.starting_ms)}`],
    ['up', server.uptime_ms === undefined ? undefined : formatElapsed(server.uptime_ms)],
    ['tools', String(server.tool_count)],
    ['pins', pinsText(server)],
    ['calls', `${server.calls} so far, ${server.in_flight} running, ${server.waiting} waiting`],
    ['took', `p50 ${tookText(server.p50_ms)}, p95 ${tookText(server.p95_ms)}`],
    ['restarts', String(server.restarts)],
    ['circuit', `${server.circuit}; calls that failed in a row: ${server.consecutive_failures}`],
    ['cache', `${server.cache_entries} answers kept, ${server.cache_hits} given from there`],
    ['questions', questionsText(server.questions)],
    ['sign-in', server.auth],
    ['last error', server.last_error],
  ];
  const lines = facts
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `  ${name.padEnd(12)}${value}`);
  const problems = server.tool_problems.map(
    ({ tool, message }) => `  ! ${tool === undefined ? '' : `${tool}: `}${message}`,
  );
  return [
    server.name,
    ...lines,
    ...problems,
    ...unshownTexts(server).map((text) => `  ! ${text}`),
    ...logLines(server),
    ...startFailureLines(server.start_failure),
    ...stderrLines(server.stderr_tail),
  ];
}

/** Writes what clients do not show, or show otherwise, of the tools of a server; a text for each client and reason. */
export function unshownTexts({ unshown = [] }: Pick<ServerReport, 'unshown'>): string[] {
  return unshown.map(({ client, how, why, tools, count: all }) => {
    const does = how === 'left out' ? 'may not show' : 'changes';
    const more = all > tools.length ? ` and ${all - tools.length} more` : '';
    return `${client} ${does} ${count(all, 'tool')}: ${tools.join(', ')}${more} (${why})`;
  });
}

function logLines({ log_messages: messages = [] }: ServerReport): string[] {
  return messages.length === 0 ? [] : ['  its last log messages:', ...messages.map((text) => `    ${text}`)];
}

function questionsText(questions: ServerReport['questions']): string | undefined {
  if (!questions) return undefined;
  const { asked, refused, last_refusal: last } = questions;
  const why = last === undefined ? '' : `; the last because: ${oneLine(last, 200)}`;
  return `${asked} asked of callers, ${refused} refused${why}`;
}

/** Writes what ran when a start failed, what probably caused it, and what to do. */
export function startFailureLines(failure: StartFailureReport | undefined): string[] {
  if (!failure) return [];
  const { command, origin, processes, advice } = failure;
  const running = processes.map(({ pid, command }) => `    ${pid}  ${command}`);
  return [
    ...(command === undefined ? [] : [`  it ran: ${command}`]),
    ...(origin === undefined ? [] : [`  it was asked at: ${origin}`]),
    ...(running.length > 0 ? ['  its processes, when the start was given up:', ...running] : []),
    ...advice.map((text) => `  > ${text}`),
  ];
}

/** Writes the end of standard error, of which at most `most` lines are shown. */
export function stderrLines(tail: string, most = Number.POSITIVE_INFINITY): string[] {
  const lines = tail.trimEnd() === '' ? [] : linesOf(tail.trimEnd());
  if (lines.length === 0) return [];
  return ['  standard error, its end:', ...lines.slice(-most).map((line) => `    ${line}`)];
}

function pinsText({ name, definitions }: ServerReport): string | undefined {
  if (!definitions) return undefined;
  const { pinned, withheld } = definitions;
  return `${pinned} as pinned, ${withheld} withheld${withheld === 0 ? '' : `: signalbox servers diff ${shellWords(name)}`}`;
}

const shared = { all: 'everybody', role: 'each role', worker: 'each worker' };

function instancesText({ transport, instances, pids }: ServerReport): string {
  if (transport === 'remote') return 'elsewhere';
  if (transport === 'http') return count(instances, 'instance');
  if (pids.length === 0) return 'no process';
  return `${pids.length === 1 ? 'process' : 'processes'} ${pids.join(', ')}`;
}
