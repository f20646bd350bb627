import type { OrchestratorStatus, Status } from '@signalbox/client/operator';
import {
  hostProblems,
  isDiskNearlyFull,
  isNotableLeap,
  isStoreNearlyFull,
  serverFailure,
} from '@signalbox/client/operator/internal';
import type { ServerReport } from '@signalbox/protocol';
import { formatDuration } from '@signalbox/protocol/duration';
import { oneLine } from '../terminal/output.ts';

/** The longest part of a reason that is shown, in characters. */
const reasonLength = 120;
/** The longest part of the reason of a failure that ends with the last line that a server or program wrote. */
const failureLength = 300;

/** Lists what does not work as it should, one sentence each with the command that shows more; none if all is fine. */
export function degradations(
  { broker, hold, holds, failing, failed, orchestrator }: Status,
  now: number,
): string[] {
  const found = [...orchestratorProblems(orchestrator, now), ...orchestrator.servers.flatMap(serverProblem)];
  for (const { agent, since, reason } of failing)
    found.push(
      `the program of ${agent} has failed for ${formatDuration(now - since)}, and its mail waits (${oneLine(reason, reasonLength)}): signalbox ps`,
    );
  for (const { agent, failed_at: at, reason } of failed)
    found.push(
      `the program of ${agent} ${oneLine(reason, failureLength)} (${formatDuration(now - at)} ago, and it is not back): signalbox ps`,
    );
  if (holds.some(({ damaged }) => damaged))
    found.push('the record of a hold is damaged, so that everything is held: signalbox holds');
  if (isNotableLeap(hold))
    found.push(
      `the broker does not trust its clock for another ${formatDuration(hold.left_ms)}: signalbox clock show`,
    );
  if (isStoreNearlyFull(broker))
    found.push('the store is nearly full: see signalbox dead list, and who does not read: signalbox ps');
  if (isDiskNearlyFull(broker)) found.push('the disk of the data directory is nearly full: make room there');
  return found;
}

/** Says which changes of the configuration are not in force, and what to do. */
export function restartText(
  { since, keys }: NonNullable<OrchestratorStatus['restart_needed']>,
  now: number,
): string {
  return `changes of the configuration have waited for a restart for ${formatDuration(now - since)} (${oneLine(keys.join(', '), reasonLength)}): signalbox down, and then up as before`;
}

function orchestratorProblems(
  {
    name,
    state,
    reason,
    hosts = [],
    kept_results,
    config_problem,
    restart_needed,
    warnings = [],
  }: OrchestratorStatus,
  now: number,
): string[] {
  const found: string[] = [];
  found.push(
    ...hosts.flatMap(hostProblems).map((text) => `${oneLine(text, failureLength)}: signalbox servers`),
  );
  if (kept_results?.problem !== undefined)
    found.push(
      `a large result was not kept for its agent (${kept_results.problem}): see the log of the orchestrator`,
    );
  if (config_problem)
    found.push(
      `the configuration has had mistakes for ${formatDuration(now - config_problem.since)}, and what was in force before stays (${oneLine(config_problem.reason, reasonLength)}): signalbox config check`,
    );
  found.push(...warnings.map((text) => `${oneLine(text, failureLength)}: signalbox tools matrix`));
  if (restart_needed) found.push(restartText(restart_needed, now));
  if (state === 'not_connected')
    found.push(
      `no orchestrator named '${name}' is connected: signalbox up starts one, --orchestrator names another`,
    );
  if (state === 'silent')
    found.push(`the orchestrator '${name}' is connected and does not answer: ${reason}`);
  return found;
}

/** The states in which a server does not work as it should, in words. */
const troubles: Partial<Record<ServerReport['state'], string>> = {
  backing_off: 'failed and will be started again',
  ejected: 'failed and is not started again before a reload',
  refused: 'is a worker of Signalbox and is not served',
  needs_auth: 'needs somebody to sign in',
  queued: 'waits for its start',
  starting: 'is being started',
  stopped: 'was stopped by an operator',
};

function serverProblem(server: ServerReport): string[] {
  const { name, state, circuit } = server;
  const trouble = troubles[state];
  const failure = state === 'backing_off' || state === 'ejected' ? serverFailure(server) : undefined;
  const why = failure === undefined ? '' : ` (${oneLine(failure, failureLength)})`;
  if (trouble !== undefined) return [`server ${name} ${trouble}${why}: signalbox servers show ${name}`];
  return circuit === 'open'
    ? [`server ${name} gets no calls, as they failed: signalbox servers show ${name}`]
    : [];
}
