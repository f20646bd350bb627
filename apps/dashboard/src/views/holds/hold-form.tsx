import type { AgentSummary, HoldTarget } from '@signalbox/client/operator';
import type { Hold } from '@signalbox/protocol';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ApiFailure } from '../../api/request.ts';
import { holdForm, subjectOf } from '../../model/holds.ts';
import { failureText, notify, perform } from '../../model/notices.ts';
import { useResource } from '../../model/resource.ts';
import { FreshButton } from '../../parts/fresh-button.tsx';
import { Text } from '../../parts/text.tsx';
import { TimeChoice, type Times, useChosenTime } from '../../parts/time-choice.tsx';

const subjects: readonly (readonly [HoldTarget['on'], string])[] = [
  ['all', 'everything'],
  ['agent', 'an agent'],
  ['role', 'a role'],
  ['tool', 'tools'],
];

const nameOf: Readonly<Record<HoldTarget['on'], string>> = {
  all: '',
  agent: 'Name of the agent',
  role: 'Name of the role',
  tool: 'Pattern of the tools, like mcp_db__* or db:*',
};

const times: Times = [
  ['', 'it is released'],
  ['15m', '15 minutes are over'],
  ['1h', '1 hour is over'],
  ['8h', '8 hours are over'],
  ['other', 'another time is over'],
];

/** The form of a new hold, which is shown over the page. It needs no further confirmation, because it asks for a reason. */
export function HoldForm() {
  const { value } = holdForm;
  return value === undefined ? null : <Form begin={value} />;
}

function Form({ begin }: { begin: HoldTarget }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const [on, setOn] = useState(begin.on);
  const [name, setName] = useState(begin.name ?? '');
  const [reason, setReason] = useState('');
  const time = useChosenTime('2h');
  const [cancelsRunning, setCancelsRunning] = useState(false);
  const [isUnchecked, setUnchecked] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  const [isSending, setSending] = useState(false);
  const isReady = reason.trim() !== '' && (on === 'all' || name.trim() !== '') && !time.isWrong;
  const close = (): void => {
    holdForm.value = undefined;
  };
  const place = async (): Promise<void> => {
    if (!isReady || isSending) return;
    setSending(true);
    try {
      const { hold, note } = await perform<{ hold: Hold; note?: string }>('holds/place', {
        on,
        ...(on !== 'all' && { name: name.trim() }),
        reason: reason.trim(),
        ...(time.ms !== undefined && { for_ms: time.ms }),
        ...(cancelsRunning && { cancel_running: true }),
        ...(isUnchecked && { unchecked: true }),
      });
      notify({ tone: 'good', text: `Held: ${subjectOf(hold)}${note === undefined ? '' : `; ${note}`}` });
      close();
    } catch (error) {
      setFailure(error);
      setSending(false);
    }
  };
  const isUnknown = failure instanceof ApiFailure && failure.code === 'unknown_hold';
  return (
    <dialog
      class="dialog"
      ref={dialog}
      aria-label="Hold"
      onClose={close}
      onKeyDown={(event) => {
        // Only the dialog closes; the page below stays.
        if (event.key === 'Escape') event.stopPropagation();
      }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void place();
        }}
      >
        <h2>Hold</h2>
        <p class="quiet">
          Nothing new reaches those who are held, they send nothing new, and no tool call starts, until the
          release. Nothing is lost. Operators and approvers are never held.
        </p>
        <fieldset class="choices">
          <legend>What</legend>
          {subjects.map(([value, text]) => (
            <label key={value} class="choice">
              <input type="radio" name="on" checked={on === value} onChange={() => setOn(value)} />
              {text}
            </label>
          ))}
        </fieldset>
        <div class="fields">
          {on !== 'all' && (
            <label>
              <span>{nameOf[on]}</span>
              <input
                value={name}
                required
                maxLength={256}
                autocomplete="off"
                spellcheck={false}
                list="hold-names"
                onInput={(event) => setName(event.currentTarget.value)}
              />
              {on !== 'tool' && <Names of={on} />}
            </label>
          )}
          <TimeChoice label="Until" ownLabel="Time, like 30m or 2d" times={times} of={time} />
        </div>
        <div class="fields">
          <label>
            <span>Reason, which everybody whom it stops is told</span>
            <input
              value={reason}
              required
              maxLength={500}
              autocomplete="off"
              onInput={(event) => setReason(event.currentTarget.value)}
            />
          </label>
        </div>
        <label class="choice">
          <input
            type="checkbox"
            checked={cancelsRunning}
            onChange={(event) => setCancelsRunning(event.currentTarget.checked)}
          />
          Cancel the calls that run, too. A cancelled call may have had its effect.
        </label>
        {isUnknown && (
          <label class="choice">
            <input
              type="checkbox"
              checked={isUnchecked}
              onChange={(event) => setUnchecked(event.currentTarget.checked)}
            />
            Hold it although nobody knows this name now.
          </label>
        )}
        {failure !== undefined && (
          <p class="wrong" role="alert">
            Not held: <Text>{failureText(failure)}</Text>
          </p>
        )}
        <div class="actions">
          <FreshButton
            label={on === 'all' ? 'Hold everything' : 'Hold'}
            look="button stop"
            isDisabled={isSending || !isReady}
          />
          <button type="button" class="button plain" onClick={close}>
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  );
}

/** Shows the names of the present agents and roles. */
function Names({ of }: { of: 'agent' | 'role' }) {
  const { data } = useResource<{ agents: AgentSummary[] }>('agents', {}, { follows: false });
  const agents = (data?.agents ?? []).filter(({ state }) => state !== 'group');
  const names = of === 'agent' ? agents.map(({ agent }) => agent) : agents.flatMap(({ roles }) => roles);
  return (
    <datalist id="hold-names">
      {[...new Set(names)].map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  );
}
