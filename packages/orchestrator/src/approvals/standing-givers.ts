import type { Log } from '@signalbox/client';
import { messageOf } from '@signalbox/protocol';
import type { ApprovalStore, BoundCall, StandingRecord } from '@signalbox/store/journal';
import type { AuditTrail } from '../audit/audit-trail.ts';
import { approvalEvents } from './approval-audit.ts';
import type { StandingApprovals } from './standing-approvals.ts';

/** The dependencies of {@link standingFor} and {@link endOrphaned}. */
export interface StandingGiversDeps {
  store: Pick<ApprovalStore, 'standing'>;
  /** Asks whether tokens are valid and may decide on tool calls of a role. The answers have the order of the questions. */
  mayDecide: (deciders: readonly { tokenId: string; role: string }[]) => Promise<boolean[]>;
  audit: Pick<AuditTrail, 'record'>;
  log: Log;
}

/** Returns a standing approval that lets a call run, if the token of its giver may still decide. */
export async function standingFor(
  standing: StandingApprovals,
  bound: BoundCall,
  deps: StandingGiversDeps,
): Promise<StandingRecord | undefined> {
  for (;;) {
    if (!standing.for(bound)) return undefined;
    // Another process may have revoked it.
    standing.refresh(await deps.store.standing());
    const found = standing.for(bound);
    if (!found) return undefined;
    const decide = await canDecide([found], deps);
    if (decide?.[0]) return found;
    // If the broker does not answer, the call asks a person, and the standing approval stays.
    if (!decide) return undefined;
    await endOrphan(standing, found, deps);
  }
}

/** Ends the standing approvals whose givers can't decide any more. Also resolves if the broker does not say who can. */
export async function endOrphaned(standing: StandingApprovals, deps: StandingGiversDeps): Promise<void> {
  const all = standing.list();
  const decide = await canDecide(all, deps);
  for (const [i, one] of all.entries()) if (decide?.[i] === false) await endOrphan(standing, one, deps);
}

/** Asks the broker who may decide. Resolves with `undefined` if it does not say. */
async function canDecide(
  standing: readonly StandingRecord[],
  { mayDecide, log }: StandingGiversDeps,
): Promise<boolean[] | undefined> {
  if (standing.length === 0) return [];
  try {
    return await mayDecide(standing.map(({ by, role }) => ({ tokenId: by.tokenId, role })));
  } catch (thrown) {
    log({ event: 'tokens_not_checked', reason: messageOf(thrown) });
    return undefined;
  }
}

async function endOrphan(
  standing: StandingApprovals,
  { id }: StandingRecord,
  { audit }: StandingGiversDeps,
): Promise<void> {
  const ended = await standing.revoke(id);
  if (ended) audit.record(approvalEvents.standingEnded(ended));
}
