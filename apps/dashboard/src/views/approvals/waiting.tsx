import type { Approval } from '@signalbox/protocol';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { useEffect, useRef } from 'preact/hooks';
import { Countdown } from '../../parts/countdown.tsx';
import { Name, Text } from '../../parts/text.tsx';

/** The calls that wait for a decision, the next deadline first. */
export function Waiting({
  approvals,
  selected,
  onSelect,
}: {
  approvals: readonly Approval[];
  selected: string | undefined;
  onSelect: (id: string) => void;
}) {
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
  }, [selected]);
  if (approvals.length === 0) return <div class="empty">No tool call waits for a person.</div>;
  return (
    <ul class="waiting" aria-label="Waiting calls" ref={list}>
      {approvals.map((approval) => (
        <li key={approval.id}>
          <button
            type="button"
            {...(approval.id === selected && { 'aria-current': 'true' as const })}
            onClick={() => onSelect(approval.id)}
          >
            <ApprovalGist of={approval} />
          </button>
        </li>
      ))}
    </ul>
  );
}

/** Shows a waiting call in a few lines: the tool, the time that is left, the agent and the beginning of the arguments. */
export function ApprovalGist({ of }: { of: Approval }) {
  const { agent, role, deadline_at, arguments: args, meta } = of;
  return (
    <>
      <span class="gist-head">
        <b>
          <Name>{toolLabel(of)}</Name>
        </b>
        <Countdown until={deadline_at} />
      </span>
      <span class="gist-who">
        <Text>{agent}</Text> · <Text>{role}</Text>
      </span>
      {args !== undefined && (
        <span class="gist-arguments">
          <Text>{args}</Text>
          {meta !== undefined && (
            <>
              {' '}
              and _meta <Text>{meta}</Text>
            </>
          )}
          {of.arguments_cut && ' …'}
        </span>
      )}
    </>
  );
}
