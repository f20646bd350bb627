import { useLayoutEffect, useState } from 'preact/hooks';
import { type Resource, useResource } from '../../model/resource.ts';
import { route, setParams } from '../../model/route.ts';
import { canDecide, signIn } from '../../model/sign-in.ts';
import { counted } from '../../parts/numbers.ts';
import { StateMark } from '../../parts/state-mark.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { Text } from '../../parts/text.tsx';
import { MissingNote, View } from '../../parts/view.tsx';
import { ApprovalDetails } from './approval-details.tsx';
import type { Verdict } from './decide.tsx';
import { type ApprovalsPage, Ended } from './ended.tsx';
import { keyOf } from './keys.ts';
import { Standing } from './standing.tsx';
import { Waiting } from './waiting.tsx';

const parts = { waiting: 'Waiting', ended: 'Ended', standing: 'Standing' } as const;

/** Reads the calls that wait, and shows them. */
export function ApprovalsView() {
  return <Approvals resource={useResource<ApprovalsPage>('approvals')} />;
}

/** Shows the tool calls that wait for a person, and the decisions on them. */
export function Approvals({ resource }: { resource: Resource<ApprovalsPage> }) {
  const { id, part = 'waiting' } = route.value.params;
  const { approvals = [] } = resource.data ?? {};
  const isKnown = Array.isArray(approvals);
  const waiting = isKnown ? approvals.toSorted((a, b) => a.deadline_at - b.deadline_at) : [];
  const [deciding, setDeciding] = useState<{ id: string; verdict: Verdict }>();
  const verdict = deciding !== undefined && deciding.id === id ? deciding.verdict : undefined;
  const select = (next: string | undefined): void => setParams({ id: next });
  const at = waiting.findIndex((one) => one.id === id);
  const [lastAt, setLastAt] = useState(0);
  if (at >= 0 && at !== lastAt) setLastAt(at);
  const step = (by: number): void => {
    // The person may have decided on the selected call: then the one in its place is next.
    const from = at >= 0 ? at + by : id === undefined ? 0 : lastAt + Math.min(0, by);
    select(waiting[Math.max(0, Math.min(waiting.length - 1, from))]?.id);
  };
  // A key acts on the shown call. An effect after the paint would leave a moment in which it acts on the one that was shown before.
  useLayoutEffect(() => {
    if (part !== 'waiting') return;
    const onKey = (event: KeyboardEvent): void => {
      const key = keyOf(event);
      if (key === undefined) return;
      event.preventDefault();
      if (key === 'next') step(1);
      else if (key === 'before') step(-1);
      else if (id !== undefined && at >= 0 && canDecide.value) setDeciding({ id, verdict: key });
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  });
  return (
    <View
      title="Approvals"
      summary={isKnown ? <Headline waiting={waiting.length} /> : 'unknown'}
      resource={resource}
    >
      {!isKnown && <MissingNote message={approvals.missing.message} />}
      <Tabs
        label="Parts of the approvals"
        parts={parts}
        chosen={part}
        onChoose={(name) => setParams({ part: name, id: undefined })}
      />
      <div class="split approvals">
        {part === 'ended' ? (
          <Ended selected={id} onSelect={select} />
        ) : part === 'standing' ? (
          <Standing />
        ) : (
          isKnown && <Waiting approvals={waiting} selected={id} onSelect={select} />
        )}
        {id !== undefined && part !== 'standing' && (
          <ApprovalDetails
            key={id}
            id={id}
            verdict={verdict}
            onVerdict={(next) => setDeciding({ id, verdict: next })}
            onClose={() => select(undefined)}
            onDecided={() => {
              // The answer may come when the person has gone on to another call or part.
              const shown = route.peek().params;
              if (shown.id !== id || (shown.part ?? 'waiting') !== 'waiting') return;
              const others = waiting.filter((one) => one.id !== id);
              select(others[Math.min(Math.max(0, at), others.length - 1)]?.id);
            }}
          />
        )}
      </div>
      {part === 'waiting' && canDecide.value && waiting.length > 0 && <Keys />}
    </View>
  );
}

function Headline({ waiting }: { waiting: number }) {
  const { value } = signIn;
  const scope = value.state === 'in' ? value.facts.approves : undefined;
  return (
    <>
      {waiting === 0 ? (
        'nothing waits'
      ) : (
        <StateMark tone="bad">{`${counted(waiting, 'call')} wait${waiting === 1 ? 's' : ''} for a decision`}</StateMark>
      )}
      {scope && (
        <span>
          {' '}
          of role <Text>{scope.join(', ')}</Text>
        </span>
      )}
    </>
  );
}

function Keys() {
  return (
    <p class="keys">
      <kbd>↓</kbd> <kbd>↑</kbd> or <kbd>j</kbd> <kbd>k</kbd> choose, <kbd>a</kbd> approve, <kbd>d</kbd> deny,{' '}
      <kbd>Esc</kbd> goes back. Each decision asks once more.
    </p>
  );
}
