import type { Approval } from '@signalbox/protocol';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { useResource } from '../../model/resource.ts';
import { hrefOf } from '../../model/route.ts';
import { canDecide, canLook } from '../../model/sign-in.ts';
import { Age, Ago } from '../../parts/age.tsx';
import { Countdown } from '../../parts/countdown.tsx';
import { Drawer, Facts } from '../../parts/drawer.tsx';
import { JsonValue } from '../../parts/json-value.tsx';
import { bytes } from '../../parts/numbers.ts';
import { Text } from '../../parts/text.tsx';
import { Decide, type Verdict } from './decide.tsx';
import { endText } from './decision-words.ts';

interface Props {
  id: string;
  verdict: Verdict;
  onVerdict: (verdict: Verdict) => void;
  onClose: () => void;
  onDecided: () => void;
}

/** Shows one call that waits, or waited, with all its arguments. The person decides here, once all of it can be read. */
export function ApprovalDetails({ id, verdict, onVerdict, onClose, onDecided }: Props) {
  const { data, error } = useResource<{ approval: Approval }>('approvals/show', { id });
  const approval = data?.approval.id === id ? data.approval : undefined;
  return (
    <Drawer title={approval ? toolLabel(approval) : 'Approval'} onClose={onClose}>
      {approval ? (
        <>
          <Call of={approval} />
          <div class="decision">
            {error !== undefined && <p class="wrong">{error}</p>}
            {approval.state === 'pending' ? (
              <Decide of={approval} verdict={verdict} onVerdict={onVerdict} onDecided={onDecided} />
            ) : (
              <End of={approval} />
            )}
          </div>
        </>
      ) : (
        <p class="quiet">{error ?? 'Reading …'}</p>
      )}
    </Drawer>
  );
}

function Call({ of }: { of: Approval }) {
  const { id, agent, role, server, host, rule, request_id, created_at, deadline_at, left_at, state } = of;
  return (
    <>
      <Facts
        of={[
          [
            'Agent',
            <>
              <Text>{agent}</Text>, role <Text>{role}</Text>
            </>,
          ],
          [
            'Asked',
            <>
              <Ago at={created_at} />
              {state === 'pending' && (
                <>
                  , <Countdown until={deadline_at} />
                </>
              )}
            </>,
          ],
          [
            'Caller',
            left_at === undefined ? undefined : (
              <>
                stopped waiting <Ago at={left_at} />
              </>
            ),
          ],
        ]}
      />
      <Arguments of={of} />
      <Facts
        of={[
          ['Server', server === undefined ? undefined : <Text>{server}</Text>],
          ['Host', host === undefined ? undefined : <Text>{host}</Text>],
          ['Rule', <Text>{rule}</Text>],
          [
            'Request',
            canLook.value ? (
              <a href={hrefOf('timeline', { id: request_id })}>
                <Text>{request_id}</Text>
              </a>
            ) : (
              <Text>{request_id}</Text>
            ),
          ],
          ['Approval', <Text>{id}</Text>],
        ]}
      />
    </>
  );
}

function Arguments({ of: { arguments: text, meta, hidden } }: { of: Approval }) {
  if (text === undefined)
    return (
      <p class="quiet">
        {canDecide.value ? 'It has no arguments.' : 'Arguments are shown to those who decide.'}
      </p>
    );
  return (
    <div class="arguments">
      <h3>
        Arguments{' '}
        <span class="quiet">
          {bytes(new TextEncoder().encode(text).length)}
          {hidden !== undefined && `, ${hidden} hidden`}
        </span>
      </h3>
      <JsonValue text={text} label="Arguments" />
      {meta !== undefined && (
        <>
          <h3>The tool’s server also gets this _meta</h3>
          <JsonValue text={meta} label="_meta" />
        </>
      )}
    </div>
  );
}

function End({ of }: { of: Approval }) {
  const { state, ended_at } = of;
  return (
    <p class={`end ${state}`} role="status">
      <b>{state}</b> {ended_at !== undefined && <Age at={ended_at} />} {ended_at !== undefined && 'ago'}:{' '}
      <Text>{endText(of)}</Text>
    </p>
  );
}
