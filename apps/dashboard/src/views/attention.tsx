import type { Attention, AttentionItem } from '@signalbox/daemon/dashboard';
import { act } from '../model/notices.ts';
import type { Resource } from '../model/resource.ts';
import { canAct } from '../model/sign-in.ts';
import { Age, Ago } from '../parts/age.tsx';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { Countdown } from '../parts/countdown.tsx';
import { counted, figure } from '../parts/numbers.ts';
import { StateMark } from '../parts/state-mark.tsx';
import { Name, Text } from '../parts/text.tsx';
import { View } from '../parts/view.tsx';
import { AnswerButton, QuestionStart } from './answer-form.tsx';
import { AskingItem } from './approvals/asking-item.tsx';
import { WithheldDefinitions } from './withheld-definitions.tsx';

/** The first view: the things that need a person, and the things that were checked. */
export function AttentionView({ resource }: { resource: Resource<Attention> }) {
  const items = resource.data?.items ?? [];
  const now = items.filter(({ level }) => level === 'now');
  const soon = items.filter(({ level }) => level === 'soon');
  return (
    <View
      title="Needs attention"
      summary={<Headline now={now.length} soon={soon.length} />}
      resource={resource}
    >
      <div class="scroll">
        {items.length === 0 && (
          <div class="all-clear">
            <StateMark tone="good">Nothing needs you</StateMark>
          </div>
        )}
        <Group title="Now" tone="bad" items={now} />
        <Group title="When you have time" tone="soon" items={soon} />
        {resource.data && <Checked {...resource.data} />}
      </div>
    </View>
  );
}

function Headline({ now, soon }: { now: number; soon: number }) {
  if (now > 0)
    return (
      <StateMark tone="bad">{now === 1 ? '1 thing needs you now' : `${now} things need you now`}</StateMark>
    );
  return soon > 0 ? <StateMark tone="soon">{`nothing urgent, ${soon} to look at`}</StateMark> : null;
}

function Group({ title, tone, items }: { title: string; tone: 'bad' | 'soon'; items: AttentionItem[] }) {
  if (items.length === 0) return null;
  return (
    <section class={`attention ${tone}`}>
      <h2>{title}</h2>
      <ul>
        {items.map((item) =>
          item.approval ? (
            <AskingItem key={item.id} of={item.approval} />
          ) : (
            <Item key={item.id} item={item} />
          ),
        )}
      </ul>
    </section>
  );
}

function Item({ item }: { item: AttentionItem }) {
  const { level, who, what, since, link, action, definitions, isFailure, question } = item;
  return (
    <li>
      <StateMark tone={level === 'now' ? 'bad' : 'soon'}>{''}</StateMark>
      <a class="who" href={`#${link}`}>
        <Name>{who}</Name>
      </a>
      <span class="what">
        <Text>{what}</Text> {question?.until !== undefined && <Countdown until={question.until} />}{' '}
        {question?.isOwn && canAct.value && <QuestionStart of={question} />}
      </span>
      <span class="since">{since === undefined ? '' : <Age at={since} />}</span>
      <span class="do">
        {isFailure && (
          <a class="button" href={`#${link}`} aria-label={`Why does ${who} fail?`}>
            Why?
          </a>
        )}
        {question && canAct.value ? (
          <AnswerButton of={question} from={who} />
        ) : action && canAct.value ? (
          // An open question closes when the action changes: it is about what the person has seen.
          <ConfirmButton
            key={JSON.stringify(action.params)}
            label={action.label}
            {...(action.question !== undefined && { question: action.question })}
            onConfirm={() => act<Changed>(action.command, action.params, (answer) => outcomeOf(who, answer))}
          />
        ) : (
          !isFailure && (
            <a class="button" href={`#${link}`} aria-label={`Show ${who}`}>
              Show
            </a>
          )
        )}
      </span>
      {definitions && <WithheldDefinitions definitions={definitions} />}
    </li>
  );
}

/** The answer to an action: for an action on dead letters, the changed ones and those that stay. */
interface Changed {
  done?: number[];
  refused?: unknown[];
}

/** Returns the result of an action in words: for dead letters, how many were stored again. */
function outcomeOf(who: string, answer: Changed) {
  if (!answer.done) return { text: `Done: ${who}` };
  const refused = answer.refused?.length ?? 0;
  const text = `${counted(answer.done.length, 'message')} stored again for ${who}`;
  return refused === 0
    ? { text }
    : { tone: 'bad' as const, text: `${text}; ${counted(refused, 'message')} stay, their inbox is full` };
}

function Checked({ checked, at }: Attention) {
  return (
    <p class="checked">
      Looked at{' '}
      {checked.map(({ what, count }) => `${figure(count)} ${count === 1 ? what : `${what}s`}`).join(', ')},{' '}
      <Ago at={at} />.
    </p>
  );
}
