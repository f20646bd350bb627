import { type AdminParams, furtherCosts, type Hold, isOfSystem, maxHolds } from '@signalbox/protocol';
import { holdSubject, holdText, nearestNames } from '@signalbox/protocol/internal';
import { type Caller, callerEvent } from '../caller.ts';
import { didYouMean } from '../deliver/recipient.ts';
import type { FrameDeps } from '../frame-deps.ts';
import { badField, type Refusal } from '../outcome.ts';
import type { OperationOutcome } from './operation.ts';

/** The most holds that a refusal names. */
const maxNamedHolds = 5;

type Deps = Pick<FrameDeps, 'holds' | 'tokens' | 'agents' | 'groups' | 'now'>;

/** Runs `hold`: places a hold. */
export async function placeHold(
  params: AdminParams<'hold'>,
  deps: Deps,
  caller: Caller,
): OperationOutcome<'hold'> {
  const { on, name = '', reason, for_ms: forMs, cancel_running: cancelsRunning = false } = params;
  const refusal =
    refuseSubject(on, params.name) ?? refuseTimes(params, deps.now()) ?? refuseHold(params, deps);
  if (refusal) return { refusal };
  caller.budget.spendFrames(furtherCosts.holdChange);
  const until = forMs === undefined ? params.until : deps.now() + forMs;
  const { token } = caller;
  const asked = { on, name, reason, by: token.agent, tokenId: token.id, cancelsRunning };
  const eventOf = (hold: Hold) =>
    callerEvent(caller, 'hold_placed', { detail: auditText(hold), name: params.name }, deps.now());
  const placed = await deps.holds.place({ ...asked, ...(until !== undefined && { until }) }, eventOf);
  const { hold, isConfirmed } = placed;
  return { result: { hold, ...(!isConfirmed && { unconfirmed: true as const }) } };
}

/** Runs `release`: ends holds by their ids, or the one hold on a subject. */
export async function releaseHolds(
  params: AdminParams<'release'>,
  deps: Deps,
  caller: Caller,
): OperationOutcome<'release'> {
  const { holds, refusal } = params.ids ? holdsById(params.ids, deps) : holdOn(params, deps);
  if (refusal) return { refusal };
  const released: Hold[] = [];
  for (const hold of holds) {
    caller.budget.spendFrames(furtherCosts.holdChange);
    const detail = `hold ${hold.id} on ${holdSubject(hold)}`;
    const event = callerEvent(caller, 'hold_released', { detail, name: hold.name }, deps.now());
    if (await deps.holds.end(hold, event)) released.push(hold);
  }
  if (released.length === 0)
    return { refusal: { code: 'unknown_hold', message: 'somebody else released it just now' } };
  return { result: { released } };
}

/** Runs `holds`: lists the current holds. */
export async function listHolds(
  _params: AdminParams<'holds'>,
  { holds }: Pick<FrameDeps, 'holds'>,
): OperationOutcome<'holds'> {
  return { result: { holds: [...holds.all] } };
}

/** Describes a hold for the audit log. */
function auditText(hold: Hold): string {
  return `${holdText(hold)}${hold.cancel_running ? '; calls that run are cancelled' : ''}`;
}

function refuseSubject(on: Hold['on'], name: string | undefined): Refusal | undefined {
  if (on === 'all')
    return name === undefined ? undefined : badField('params.name', "'all' has none; leave it out");
  return name === undefined ? badField('params.name', `names the ${on}; add it`) : undefined;
}

function refuseTimes({ until, for_ms: forMs }: AdminParams<'hold'>, now: number): Refusal | undefined {
  if (until === undefined) return undefined;
  if (forMs !== undefined) return badField('params.for_ms', "'until' says it already; leave one out");
  if (until > now) return undefined;
  const time = new Date(now).toISOString();
  return badField('params.until', `is over: the broker's clock shows ${time}; take a later time`);
}

/** Refuses a hold on a subject that is never held, on a name that the broker does not know, or beyond the most holds. */
function refuseHold({ on, name = '', unchecked }: AdminParams<'hold'>, deps: Deps): Refusal | undefined {
  const { holds, tokens, agents, groups } = deps;
  if (holds.all.length >= maxHolds) {
    const message = `${maxHolds} holds stand already, the most that may; release some`;
    return { code: 'quota_exceeded', message };
  }
  if (on === 'role') {
    if (isOfSystem(name)) return neverHeld(`the role '${name}'`, 'params.name');
    if (unchecked || groups.has(`role:${name}`)) return undefined;
    const known = [...groups.addresses()].flatMap((one) => (one.startsWith('role:') ? one.slice(5) : []));
    return unknown(`no token or configuration names the role '${name}'`, nearestNames(name, known));
  }
  if (on !== 'agent') return undefined;
  const roles = tokens.rolesOf(name);
  if ([...roles, ''].some((role) => holds.isNeverHeld({ agent: name, role })))
    return neverHeld(`'${name}'`, 'params.name');
  if (unchecked || agents.has(name)) return undefined;
  const known = new Set(Array.from(tokens.liveAgents(), ({ agent }) => agent));
  return unknown(`no agent '${name}' has a token or ever connected`, nearestNames(name, known));
}

function neverHeld(who: string, field: string): Refusal {
  const message = `${who} is never held: operators, approvers and orchestrators are the ones who end a hold; revoke the token instead`;
  return { code: 'forbidden', message, field };
}

function unknown(what: string, near: readonly string[]): Refusal {
  return { code: 'unknown_hold', message: `${what}${didYouMean(near)}`, field: 'params.name' };
}

function holdsById(
  ids: readonly string[],
  { holds }: Pick<Deps, 'holds'>,
): { holds: Hold[]; refusal?: Refusal } {
  const found: Hold[] = [];
  for (const id of new Set(ids)) {
    const hold = holds.all.find((one) => one.id === id);
    if (!hold) {
      const near = nearestNames(
        id,
        holds.all.map((one) => one.id),
      );
      const message = `no hold has the id '${id}'${didYouMean(near)}; nothing was released`;
      return { holds: [], refusal: { code: 'unknown_hold', message, field: 'params.ids' } };
    }
    found.push(hold);
  }
  return { holds: found };
}

/** Names the holds that stand, the oldest few. */
function heldText(holds: readonly Hold[]): string {
  const shown = holds.slice(0, maxNamedHolds).map(({ id, ...hold }) => `${holdSubject(hold)} (hold ${id})`);
  const more = holds.length > shown.length ? `, and ${holds.length - shown.length} more` : '';
  return `these are held: ${shown.join(', ')}${more}; release each by its id`;
}

/** Finds the one hold on a subject. If several operators hold it, each of them may have had a reason: then the ids must be named. */
function holdOn(
  { on, name }: AdminParams<'release'>,
  { holds, tokens }: Pick<Deps, 'holds' | 'tokens'>,
): { holds: Hold[]; refusal?: Refusal } {
  const refuse = (refusal: Refusal): { holds: Hold[]; refusal: Refusal } => ({ holds: [], refusal });
  if (on === undefined) return refuse(badField('params.ids', "or 'on' says what is released; add one"));
  const misnamed = refuseSubject(on, name);
  if (misnamed) return refuse(misnamed);
  const found = holds.all.filter((one) => one.on === on && one.name === name);
  if (found.length === 1) return { holds: found };
  const field = 'params.name';
  const subject = holdSubject({ on, ...(name !== undefined && { name }) });
  if (found.length > 1) {
    const which = found.map(holdText).join('; ');
    const message = `${found.length} holds are on ${subject}; name the ids of those to release: ${which}`;
    return refuse({ code: 'bad_frame', message, field });
  }
  const others =
    on === 'agent'
      ? [...tokens.rolesOf(name ?? ''), ''].flatMap((role) => holds.on({ agent: name ?? '', role }) ?? [])
      : [];
  if (others[0]) {
    const message = `no hold is on ${subject} itself, but ${holdText(others[0])}`;
    return refuse({ code: 'unknown_hold', message, field });
  }
  const same = holds.all.flatMap((one) => (one.on === on && one.name !== undefined ? one.name : []));
  const near = didYouMean(nearestNames(name ?? '', same));
  // An operator who releases everything may mean every hold.
  const each = on === 'all' && holds.all.length > 0 ? ` itself; ${heldText(holds.all)}` : '';
  const message = `no hold is on ${subject}${near}${each}`;
  return refuse({ code: 'unknown_hold', message, field });
}
