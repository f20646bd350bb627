import type { Explanation } from '@signalbox/protocol';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { ApiFailure, read } from '../api/request.ts';
import { Facts } from '../parts/drawer.tsx';
import { timeOf } from '../parts/numbers.ts';
import { StateMark } from '../parts/state-mark.tsx';
import { Text } from '../parts/text.tsx';

/** Asks whether a role may call a tool, perhaps with certain arguments, and by which rule. */
export function Explain() {
  const [question, setQuestion] = useState({ role: '', tool: '', arguments: '' });
  const [answer, setAnswer] = useState<Explanation | string>();
  const ask = async (event: Event): Promise<void> => {
    event.preventDefault();
    try {
      setAnswer(await read<Explanation>('explain', question));
    } catch (error) {
      setAnswer(error instanceof ApiFailure ? error.message : String(error));
    }
  };
  const field = (name: keyof typeof question, label: string, isRequired: boolean) => (
    <label class="filter">
      <span>{label}</span>
      <input
        value={question[name]}
        required={isRequired}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => setQuestion({ ...question, [name]: event.currentTarget.value })}
      />
    </label>
  );
  return (
    <form class="filters" onSubmit={(event) => void ask(event)}>
      {field('role', 'May the role', true)}
      {field('tool', 'call the tool', true)}
      {field('arguments', 'with arguments, as JSON', false)}
      <button type="submit" class="button">
        Explain
      </button>
      {answer !== undefined && (
        <section class="answer" role="status" aria-label="Explanation">
          {typeof answer === 'string' ? <Text>{answer}</Text> : <Answer of={answer} />}
          <button type="button" class="button plain" aria-label="Close" onClick={() => setAnswer(undefined)}>
            ✕
          </button>
        </section>
      )}
    </form>
  );
}

function Answer({ of }: { of: Explanation }) {
  const { role, tool, allowed, exists, rule, held, nearest, hidden } = of;
  return (
    <div>
      <p>
        <StateMark tone={allowed && exists ? 'good' : 'bad'}>{allowed ? 'May' : 'May not'}</StateMark>{' '}
        <Text>{`${role} ${allowed ? 'may call' : 'may not call'} ${tool}${exists ? '' : '; there is no such tool'}`}</Text>
      </p>
      <Facts
        of={[
          ['Rule', <Text key="rule">{rule}</Text>],
          ['Approval', askText(of)],
          ['Hidden values', hidingText(of)],
          ['Held', held === undefined ? undefined : <Text key="held">{held}</Text>],
          ['Most similar', nearest === undefined ? undefined : <Text key="nearest">{nearest}</Text>],
          ['Lists', hidden ? 'in none; it is called by this name' : undefined],
          ['Server', serverText(of)],
          ['Repeated', exists ? repeatText(of) : undefined],
          ['Changed', exists ? changedText(of) : undefined],
        ]}
      />
    </div>
  );
}

const denied = 'denied, because a value would be hidden from those who decide';

function askText({ allowed, exists, ask, ask_rule = '' }: Explanation): ComponentChildren {
  if (!allowed || !exists) return undefined;
  if (ask === 'no') return 'not needed';
  const what = { yes: 'a person decides', by_arguments: 'it depends on the arguments', denied }[ask];
  return <Text>{`${what} (${ask_rule})`}</Text>;
}

function hidingText({ allowed, exists, hidden_rule }: Explanation): ComponentChildren {
  if (!allowed || !exists || hidden_rule === undefined) return undefined;
  return <Text>{`a call with one is denied (${hidden_rule})`}</Text>;
}

function serverText({ server, state, circuit, running, waiting }: Explanation): ComponentChildren {
  if (server === undefined) return undefined;
  const words = [state?.replaceAll('_', ' '), circuit && `circuit ${circuit}`];
  const load = [running === undefined ? undefined : `${running} running`, waiting && `${waiting} waiting`];
  return <Text>{`${server}: ${[...words, ...load].filter(Boolean).join(', ')}`}</Text>;
}

function repeatText({ repeat, repeat_rule }: Explanation): ComponentChildren {
  const word = repeat === 'safe' ? 'a call that was sent may be made again' : 'never';
  return <Text>{repeat_rule === undefined ? word : `${word} (${repeat_rule})`}</Text>;
}

function changedText({ changed_at }: Explanation): string {
  return changed_at === undefined ? 'not since the orchestrator started' : timeOf(changed_at);
}
