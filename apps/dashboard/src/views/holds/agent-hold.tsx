import type { AgentSummary } from '@signalbox/client/operator';
import { isOnAgent } from '@signalbox/protocol/holds';
import { holdForm, releaseHold, standingHolds, subjectOf } from '../../model/holds.ts';
import { canAct } from '../../model/sign-in.ts';
import { ConfirmButton } from '../../parts/confirm-button.tsx';
import { HoldLine } from './hold-banner.tsx';

/** Shows the hold on an agent and its reason, and holds or releases it. A hold on its role, or on everything, is released in the banner. */
export function AgentHold({ of: { agent, roles, on_hold } }: { of: AgentSummary }) {
  // For an agent that is not connected, it is unknown whether a hold on everything or on its role affects it.
  const all = standingHolds.value.filter((hold) => roles.some((role) => isOnAgent(hold, { agent, role })));
  const own = standingHolds.value.filter(({ on, name }) => on === 'agent' && name === agent);
  const shown = on_hold === undefined ? own : all;
  return (
    <>
      {shown.map((hold) => (
        <p key={hold.id} class="held-note">
          <HoldLine of={hold} />
        </p>
      ))}
      {canAct.value && (
        <div class="actions">
          {own.map((hold) => (
            <ConfirmButton
              key={hold.id}
              label="Release"
              question={`Release ${subjectOf(hold)}? It was held because: ${hold.reason}`}
              onConfirm={() => releaseHold(hold)}
            />
          ))}
          {own.length === 0 && (
            <button
              type="button"
              class="button danger"
              onClick={() => {
                holdForm.value = { on: 'agent', name: agent };
              }}
            >
              Hold…
            </button>
          )}
        </div>
      )}
    </>
  );
}
