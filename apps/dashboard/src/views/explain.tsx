import type { ExplainedStep, Explanation } from '@signalbox/protocol';
import { toolLabel } from '@signalbox/protocol/tool-label';
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ApiFailure, read } from '../api/request.ts';
import { Facts } from '../parts/drawer.tsx';
import { timeOf } from '../parts/numbers.ts';
import { RoleChoice } from '../parts/role-choice.tsx';
import { StateMark } from '../parts/state-mark.tsx';
import { Text } from '../parts/text.tsx';

/** Asks whether a role may call a tool, perhaps with certain arguments, and by which rule; at once if it has both. */
export function Explain({
  role,
  tool,
  roles,
  tools,
}: {
  role: string;
  tool: string;
  roles: readonly string[];
  tools: readonly string[];
}) {
  const [question, setQuestion] = useState({ role, tool, arguments: '' });
  const [answer, setAnswer] = useState<Explanation | string>();
  const ask = async (): Promise<void> => {
    try {
      setAnswer(await read<Explanation>('explain', question));
    } catch (error) {
      setAnswer(error instanceof ApiFailure ? error.message : String(error));
    }
  };
  useEffect(() => {
    if (role !== '' && tool !== '') void ask();
  }, []);
  const field = (name: 'tool' | 'arguments', label: string, list?: string) => (
    <label class="filter">
      <span>{label}</span>
      <input
        value={question[name]}
        required={list !== undefined}
        list={list}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => setQuestion({ ...question, [name]: event.currentTarget.value })}
      />
    </label>
  );
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault();
        void ask();
      }}
    >
      <RoleChoice
        class="filter"
        label="May the role"
        roles={roles}
        value={question.role}
        onChange={(next) => setQuestion({ ...question, role: next })}
      />
      {field('tool', 'call the tool', 'tool-names')}
      <datalist id="tool-names">
        {tools.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {field('arguments', 'with arguments, as JSON')}
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
  const { role, allowed, exists, nearest, hidden, steps } = of;
  return (
    <div>
      <p>
        <StateMark tone={allowed && exists ? 'good' : 'bad'}>{allowed ? 'Yes:' : 'No:'}</StateMark>{' '}
        <Text>{`${role} ${allowed ? 'may call' : 'may not call'} ${toolLabel(of)}${exists ? '' : '; there is no such tool'}`}</Text>
      </p>
      <Facts
        of={[
          [
            'Most similar',
            nearest === undefined ? undefined : <Text key="nearest">{toolLabel({ tool: nearest })}</Text>,
          ],
          ['Lists', hidden ? 'in none; it is called by this name' : undefined],
          ['Server', serverText(of)],
          ['Changed', exists ? changedText(of) : undefined],
        ]}
      />
      <p>Steps of a call, in their order:</p>
      <ol aria-label="Steps of a call">
        {steps.map((one) => (
          <li key={one.step}>
            <StateMark tone={tones[one.verdict]}>{one.step}:</StateMark> <Text>{sayingOf(one)}</Text>
          </li>
        ))}
      </ol>
    </div>
  );
}

const tones = { passes: 'good', waits: 'soon', depends: 'quiet', refused: 'bad' } as const;

function sayingOf({ verdict, says, rule }: ExplainedStep): string {
  const said = verdict === 'passes' ? says : `${verdict}: ${says}`;
  return rule === undefined ? said : `${said} (${rule})`;
}

function serverText({ server, state, circuit, running, waiting }: Explanation): ComponentChildren {
  if (server === undefined) return undefined;
  const words = [state?.replaceAll('_', ' '), circuit && `circuit ${circuit}`];
  const load = [running === undefined ? undefined : `${running} running`, waiting && `${waiting} waiting`];
  return <Text>{`${server}: ${[...words, ...load].filter(Boolean).join(', ')}`}</Text>;
}

function changedText({ changed_at }: Explanation): string {
  return changed_at === undefined ? 'not since the orchestrator started' : timeOf(changed_at);
}
