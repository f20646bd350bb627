import type { Missing } from '@signalbox/daemon/dashboard';
import type { StandingApproval } from '@signalbox/protocol';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { act } from '../../model/notices.ts';
import { useResource } from '../../model/resource.ts';
import { canDecide } from '../../model/sign-in.ts';
import { Ago } from '../../parts/age.tsx';
import { ConfirmButton } from '../../parts/confirm-button.tsx';
import { Countdown } from '../../parts/countdown.tsx';
import { Text } from '../../parts/text.tsx';
import { MissingNote } from '../../parts/view.tsx';

/** The standing approvals that are in force, each with an end by hand. */
export function Standing() {
  const { data, error } = useResource<{ standing: StandingApproval[] | Missing }>('approvals/standing');
  if (!data) return <p class="empty">{error ?? 'Reading …'}</p>;
  if (!Array.isArray(data.standing)) return <MissingNote message={data.standing.missing.message} />;
  if (data.standing.length === 0)
    return <div class="empty">No standing approval is in force: each call under ask waits for a person.</div>;
  return (
    <ul class="standing" aria-label="Standing approvals">
      {data.standing.map((one) => (
        <li key={one.id}>
          <One of={one} />
        </li>
      ))}
    </ul>
  );
}

function One({ of: { id, agent, role, tool, created_at, until, by, reason } }: { of: StandingApproval }) {
  return (
    <>
      <p>
        <b>
          <Text>{agent}</Text>
        </b>{' '}
        (role <Text>{role}</Text>) calls{' '}
        <b>
          <Text>{toolLabel({ tool })}</Text>
        </b>{' '}
        without asking, <Countdown until={until} />
      </p>
      <p class="quiet">
        given by <Text>{by.agent}</Text> <Ago at={created_at} />
        {reason !== undefined && (
          <>
            : <Text>{reason}</Text>
          </>
        )}
      </p>
      {canDecide.value && (
        <ConfirmButton
          label="Revoke"
          question="Have its calls ask again?"
          isDangerous
          onConfirm={() =>
            act<{ revoked: StandingApproval }>('approvals/revoke-standing', { id }, () => ({
              text: `Calls of ${toolLabel({ tool })} by ${agent} ask again`,
            }))
          }
        />
      )}
    </>
  );
}
