import type { Approval, DecideReply } from '@signalbox/protocol';
import { isOnAgent } from '@signalbox/protocol/holds';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { standingHolds } from '../../model/holds.ts';
import { act } from '../../model/notices.ts';
import { canDecide, signIn } from '../../model/sign-in.ts';
import { FreshButton } from '../../parts/fresh-button.tsx';
import { Text } from '../../parts/text.tsx';
import { TimeChoice, type Times, useChosenTime } from '../../parts/time-choice.tsx';
import { decisionText } from './decision-words.ts';

/** The decision that is being taken, or none. */
export type Verdict = 'approve' | 'deny' | undefined;

const longestMs = 24 * 3_600_000;

/** The times for which calls of an agent and tool may be approved. The empty one approves this call only. */
const times: Times = [
  ['', 'this call only'],
  ['15m', '15 minutes'],
  ['1h', '1 hour'],
  ['8h', '8 hours'],
  ['other', 'another time'],
];

interface Props {
  of: Approval;
  verdict: Verdict;
  onVerdict: (verdict: Verdict) => void;
  /** Called when the call no longer waits. */
  onDecided?: () => void;
}

/** The two decisions on a waiting call. Each asks for a confirmation, which a key that is held down can't give. */
export function Decide(props: Props) {
  const { of, verdict, onVerdict } = props;
  if (!canDecide.value) return null;
  const { value } = signIn;
  if (value.state === 'in' && value.facts.agent === of.agent)
    return <p class="quiet">It is a call of your own: somebody else decides on it.</p>;
  if (verdict === 'approve') return <Approve {...props} />;
  if (verdict === 'deny') return <Deny {...props} />;
  return (
    <div class="actions">
      <button type="button" class="button strong" onClick={() => onVerdict('approve')}>
        Approve…
      </button>
      <button type="button" class="button danger" onClick={() => onVerdict('deny')}>
        Deny…
      </button>
    </div>
  );
}

function Approve({ of, onVerdict, onDecided }: Props) {
  const time = useChosenTime('30m', { least: 1000, most: longestMs });
  const [reason, setReason] = useState('');
  const isHeld = standingHolds.value.some((hold) => isOnAgent(hold, of));
  const when = isHeld ? 'after the release of what is held' : 'now';
  const [send, isSending] = useDecision(of, onVerdict, onDecided);
  const label = time.choice === '' ? 'Approve once' : `Approve for ${time.text}`;
  return (
    <Form
      label={`Approve ${toolLabel(of)}`}
      onSubmit={() => time.isWrong || send({ verdict: 'approve', for_ms: time.ms, reason })}
      onCancel={() => onVerdict(undefined)}
    >
      {of.hidden !== undefined && (
        <p class="effect">
          {of.hidden === 1 ? 'One value is' : `${of.hidden} values are`} hidden from you: tokens, or secrets
          of the configuration, shown as <code>[hidden: …]</code> with length, hash and configuration entry.
          The tool gets them as the agent wrote them.
        </p>
      )}
      <p class="effect">
        {time.choice === '' ? (
          `It is called ${when}, once, as shown.`
        ) : (
          <>
            It is called {when}, and for this time <Text>{of.agent}</Text> may call{' '}
            <Text>{toolLabel(of)}</Text> again, with any arguments, and nobody is asked.
          </>
        )}
      </p>
      <div class="fields">
        <TimeChoice label="Approve" ownLabel="Time, at most 24h" times={times} of={time} />
        <label>
          <span>Reason, for the record</span>
          <input
            value={reason}
            maxLength={500}
            autocomplete="off"
            onInput={(event) => setReason(event.currentTarget.value)}
          />
        </label>
      </div>
      {time.isWrong && <p class="wrong">Write a time like 30m or 2h, at most 24h.</p>}
      <FreshButton label={label} look="button strong" hasFocus isDisabled={isSending || time.isWrong} />
    </Form>
  );
}

function Deny({ of, onVerdict, onDecided }: Props) {
  const [reason, setReason] = useState('');
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => field.current?.focus(), []);
  const [send, isSending] = useDecision(of, onVerdict, onDecided);
  const isEmpty = reason.trim() === '';
  return (
    <Form
      label={`Deny ${toolLabel(of)}`}
      onSubmit={() => isEmpty || send({ verdict: 'deny', reason })}
      onCancel={() => onVerdict(undefined)}
    >
      <p class="effect">
        It is not called, and <Text>{of.agent}</Text> is told your reason.
      </p>
      <div class="fields">
        <label>
          <span>Reason</span>
          <input
            ref={field}
            value={reason}
            required
            maxLength={500}
            autocomplete="off"
            onKeyDown={(event) => {
              // The key that opened this may still be held down.
              if (event.repeat && reason === '') event.preventDefault();
            }}
            onInput={(event) => setReason(event.currentTarget.value)}
          />
        </label>
      </div>
      <FreshButton label="Deny" look="button danger" isDisabled={isSending || isEmpty} />
    </Form>
  );
}

/** A form that Escape closes. */
function Form({
  label,
  onSubmit,
  onCancel,
  children,
}: {
  label: string;
  onSubmit: () => unknown;
  onCancel: () => void;
  children: preact.ComponentChildren;
}) {
  return (
    <form
      class="decide"
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        onCancel();
      }}
    >
      {children}
      <button type="button" class="button plain" onClick={onCancel}>
        Cancel
      </button>
    </form>
  );
}

/** Sends a decision once, and reports its result. */
function useDecision({ id }: Approval, onVerdict: Props['onVerdict'], onDecided: Props['onDecided']) {
  const [isSending, setSending] = useState(false);
  const send = async ({ verdict, reason, for_ms }: Decision): Promise<void> => {
    if (isSending) return;
    setSending(true);
    const why = reason.trim();
    const params = {
      ...{ id, verdict },
      ...(why !== '' && { reason: why }),
      ...(for_ms !== undefined && { for_ms }),
    };
    const reply = await act<DecideReply>('approvals/decide', params, decisionText);
    setSending(false);
    onVerdict(undefined);
    if (reply && reply.approval.state !== 'pending') onDecided?.();
  };
  return [send, isSending] as const;
}

interface Decision {
  verdict: 'approve' | 'deny';
  reason: string;
  for_ms?: number | undefined;
}
