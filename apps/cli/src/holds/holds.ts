import type { BrokerClient } from '@signalbox/client';
import { type HoldTarget, listHolds, queryOrchestrator, releaseHolds } from '@signalbox/client/operator';
import { checkToolPattern } from '@signalbox/client/operator/internal';
import { type Hold, SignalboxError } from '@signalbox/protocol';
import { formatDuration, parseDuration } from '@signalbox/protocol/duration';
import { holdSubject, parseInstant } from '@signalbox/protocol/internal';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { type ConnectedClient, withClient } from '../connection/connected-client.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { type OrchestratorFlag, orchestratorOf } from '../connection/orchestrator-request.ts';
import { requireKnownAgent } from '../messages/why-waiting.ts';
import { count, oneLine, printJson, printLines, printNotes, tableLines } from '../terminal/output.ts';
import { askedRole } from '../token/listed-roles.ts';
import { type HoldTargetFlags, holdTarget } from './hold-target.ts';

/** The options of `signalbox hold`. `agent` is who is held, and not who asks. */
export interface HoldFlags extends Omit<ConnectionFlags, 'agent'>, OrchestratorFlag, HoldTargetFlags {
  /** It is needed, and missed only after the names were looked at. */
  reason?: string;
  until?: string;
  cancelRunning?: boolean;
  force?: boolean;
  json?: boolean;
}

/** The options of `signalbox release`. */
export interface ReleaseFlags extends Omit<ConnectionFlags, 'agent'>, HoldTargetFlags {
  json?: boolean;
}

/** The options of `signalbox holds`. */
export interface HoldsFlags extends ConnectionFlags {
  json?: boolean;
}

/** Places a hold and prints it. */
export async function hold(flags: HoldFlags): Promise<void> {
  const { agent: _held, reason, until, cancelRunning, force = false, json, ...connection } = flags;
  const named = holdTarget(flags);
  if (!named)
    throw new SignalboxError(
      'usage',
      `no option says what is held${reason === undefined ? `; ${noReason}` : ''}`,
      {
        details: { hint: 'add --agent NAME, --role ROLE, --tool PATTERN or --all' },
      },
    );
  const end = until === undefined ? {} : endOf(until);
  const answer = await withClient(
    connection,
    async (connected) => {
      const target = await wholeTarget(named, connected, flags);
      if (reason === undefined) throw await withoutReason(connected, target, flags);
      if (target.on === 'tool' && !force) await checkTools(connected, target.name ?? '', flags);
      const wanted = {
        ...target,
        reason,
        ...end,
        ...(cancelRunning && { cancel_running: true }),
        ...(force && { unchecked: true }),
      };
      return await connected.client.admin('hold', wanted).catch((error) => {
        throw isOfCode(error, 'unknown_hold') ? usageOf(error) : error;
      });
    },
    { changes: !json },
  );
  const { hold: placed, unconfirmed } = answer;
  if (json) return printJson(answer);
  printLines(...heldLines(placed));
  if (unconfirmed)
    printNotes(
      'Not every orchestrator or broker has confirmed that it acts by the hold: calls may still begin there.',
    );
}

/** Releases holds and prints which. */
export async function release(ids: string[], flags: ReleaseFlags): Promise<void> {
  const { agent: _held, json, ...connection } = flags;
  const target = holdTarget(flags);
  if (ids.length > 0 === (target !== undefined))
    throw new SignalboxError(
      'usage',
      'name either ids of holds, or one of --agent, --role, --tool and --all',
      {
        details: { hint: 'see the holds with: signalbox holds' },
      },
    );
  const released = await withClient(
    connection,
    async (connected) => {
      const whole = target && (await wholeTarget(target, connected, {}));
      const named = whole?.on === 'tool' ? await holdsOnTool(connected.client, whole.name ?? '') : [];
      const which = named.length > 0 ? { ids: named } : (whole ?? { ids });
      try {
        return await releaseHolds(connected.client, which);
      } catch (error) {
        if (target && isOfCode(error, 'unknown_hold')) await checkNames(connected, target, flags);
        return throwUnknown(error, ids);
      }
    },
    { changes: !json },
  );
  if (json) return printJson({ released });
  printLines(...released.flatMap(releasedLines));
}

/** Returns the ids of the holds on tools that bear a name for people: they were placed under it, or under the name on the wire. */
async function holdsOnTool(client: BrokerClient, name: string): Promise<string[]> {
  const label = toolLabel({ tool: name });
  const holds = await listHolds(client);
  return holds
    .filter((one) => one.on === 'tool' && toolLabel({ tool: one.name ?? '' }) === label)
    .map(({ id }) => id);
}

/** Throws the error again. For an unknown id it adds how an agent is released. */
function throwUnknown(error: unknown, [id]: string[]): never {
  if (!(error instanceof SignalboxError) || error.code !== 'unknown_hold' || id === undefined) throw error;
  const hint = `signalbox holds lists the ids; if '${id}' is an agent, write --agent ${id}`;
  throw new SignalboxError(error.code, error.message, {
    cause: error,
    details: { hint, ...error.details },
  });
}

/** Prints the holds that stand. */
export async function printHolds(flags: HoldsFlags): Promise<void> {
  const holds = await withClient(flags, ({ client }) => listHolds(client));
  if (flags.json) return printJson({ holds });
  if (holds.length === 0) return printLines('nobody and nothing is held');
  const end = `${count(holds.length, 'hold')}; end one with: signalbox release ID`;
  printLines(...holdsTable(holds, Date.now()), '', end);
}

function heldLines(placed: Hold): string[] {
  const end =
    placed.until === undefined ? 'until its release' : `until ${new Date(placed.until).toISOString()}`;
  return [
    `${subjectAnd(placed, 'held')} ${end}: ${placed.reason}`,
    `Release it with: signalbox release ${placed.id}`,
  ];
}

function releasedLines(hold: Hold): string[] {
  if (hold.damaged) return [`Hold ${hold.id} is released; its record was damaged.`];
  const since = new Date(hold.created_at).toISOString();
  return [
    `${subjectAnd(hold, 'released')} (hold ${hold.id}).`,
    `${hold.by} placed it at ${since}: ${hold.reason}`,
  ];
}

function subjectAnd(hold: Hold, what: 'held' | 'released'): string {
  const subject = holdSubject(hold);
  return `${subject.charAt(0).toUpperCase()}${subject.slice(1)} ${hold.on === 'tool' ? 'are' : 'is'} ${what}`;
}

/** Writes holds as a table. `now` in epoch milliseconds. */
function holdsTable(holds: readonly Hold[], now: number): string[] {
  const rows = holds.map((one) => [
    one.id,
    one.damaged ? 'everything (its record is damaged)' : holdSubject(one),
    one.by,
    one.damaged ? '-' : `${formatDuration(Math.max(0, now - one.created_at))} ago`,
    one.until === undefined ? 'by release' : `in ${formatDuration(one.until - now)}`,
    oneLine(one.reason, 60),
  ]);
  return tableLines(['ID', 'HOLDS', 'BY', 'SINCE', 'ENDS', 'REASON'], rows);
}

/**
 * Names the server of a tool that is named by its own name alone. Without an answer of the orchestrator, and for any other name, the target
 * stays as it is. Throws `usage` if several servers have the tool.
 */
async function wholeTarget(
  target: HoldTarget,
  { client, ...connected }: ConnectedClient,
  flags: OrchestratorFlag,
): Promise<HoldTarget> {
  const { on, name = '' } = target;
  if (on !== 'tool' || /[:*]/.test(name)) return target;
  const orchestrator = await orchestratorOf({ client, ...connected }, flags);
  const matrix = await queryOrchestrator(client, orchestrator, { op: 'matrix' }).catch(() => undefined);
  const tools = matrix?.tools ?? [];
  if (tools.some(({ tool }) => tool === name)) return target;
  const found = tools.flatMap(({ server, own }) => (own === name ? [`${server}:${own}`] : []));
  if (found.length > 1)
    throw new SignalboxError('usage', `several servers have a tool '${name}'`, {
      details: { hint: `name one of them: ${found.join(', ')}` },
    });
  return { ...target, name: found[0] ?? name };
}

const noReason = "option '--reason <text>' is missing";

/** Makes the refusal of a hold without a reason. It says, too, that nobody knows the name: that is the mistake to see first. */
async function withoutReason(
  connected: ConnectedClient,
  target: HoldTarget,
  flags: HoldFlags,
): Promise<SignalboxError> {
  try {
    if (!flags.force) await checkNames(connected, target, flags);
  } catch (error) {
    if (isOfCode(error, 'usage')) return usageOf(error, `; ${noReason}`);
  }
  return new SignalboxError('usage', noReason, { details: { hint: 'see: signalbox hold --help' } });
}

function isOfCode(error: unknown, code: string): error is SignalboxError {
  return error instanceof SignalboxError && error.code === code;
}

/** Makes wrong usage of the refusal of a name. */
function usageOf(error: SignalboxError, also = ''): SignalboxError {
  return new SignalboxError('usage', `${error.message}${also}`, { details: error.details, cause: error });
}

/** Refuses a name that nobody knows. */
async function checkNames(
  connected: ConnectedClient,
  { on, name = '' }: HoldTarget,
  flags: HoldTargetFlags & ConnectionFlags & OrchestratorFlag,
): Promise<void> {
  const { agent: _held, ...asker } = flags;
  if (on === 'tool') await checkTools(connected, name, flags);
  else if (on === 'agent') await requireKnownAgent(connected, name, asker);
  else if (on === 'role') await askedRole(connected, asker, name);
}

/** Refuses a pattern that means no tool. Without an answer of the orchestrator the hold is placed all the same: it must not fail then. */
async function checkTools(
  connected: ConnectedClient,
  pattern: string,
  flags: OrchestratorFlag,
): Promise<void> {
  const orchestrator = await orchestratorOf(connected, flags);
  try {
    await checkToolPattern(connected.client, orchestrator, pattern);
  } catch (error) {
    if (!(error instanceof SignalboxError)) throw error;
    if (error.code === 'unknown_hold')
      throw new SignalboxError('usage', error.message, {
        details: { hint: 'a hold on tools that are not there yet needs --force' },
      });
    printNotes(`The orchestrator does not say whether there is such a tool: ${error.message}`);
  }
}

/** Reads `30m` as a time from now by the broker's clock, and anything else as an instant. */
function endOf(text: string): { for_ms: number } | { until: number } {
  const ms = parseDuration(text);
  if (ms !== undefined) return { for_ms: ms };
  const at = parseInstant(text);
  if (at !== undefined) return { until: at };
  throw new SignalboxError('usage', `--until '${text}' is neither a time from now nor an instant`, {
    details: { hint: 'write it like 30m, 8h, 2026-12-01T09:00 or 2026-12-01T09:00+01:00' },
  });
}
