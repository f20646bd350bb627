import type { Transcript, TranscriptEntry } from '@signalbox/client/operator';
import type { FoundThreads } from '@signalbox/daemon/dashboard';
import { isOperator } from '@signalbox/protocol/names';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { useEffect, useRef } from 'preact/hooks';
import { act } from '../model/notices.ts';
import { useResource } from '../model/resource.ts';
import { hrefOf, route, setParams } from '../model/route.ts';
import { canAct, canReadBodies } from '../model/sign-in.ts';
import { Age } from '../parts/age.tsx';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { MessageBody } from '../parts/message-body.tsx';
import { bytes, clockTime, counted, dayOf, duration, timeOf } from '../parts/numbers.ts';
import { QueryField } from '../parts/query-field.tsx';
import { Name, Text } from '../parts/text.tsx';
import { MissingNote, View } from '../parts/view.tsx';
import { AnswerButton } from './answer-form.tsx';
import { Outcome } from './outcome.tsx';

/** Shows the threads of messages whose bodies are kept, or what was said in one of them. */
export function ConversationsView() {
  const { thread } = route.value.params;
  return thread ? <OneThread key={thread} thread={thread} /> : <Threads />;
}

function Threads() {
  const { agent, tool, outcome, search, cursor } = route.value.params;
  const chips = { agent, tool, outcome };
  const filter = { ...chips, search };
  const resource = useResource<FoundThreads>('threads', { ...filter, cursor });
  const { threads = [], cursor: next, keeps, searched_since: since, callsMissing } = resource.data ?? {};
  const isFiltered = Object.values(filter).some(Boolean);
  return (
    <View
      title="Conversations"
      summary={
        keeps && (
          <>
            {keeps.kinds.join(', ')} of the last {duration(keeps.age_ms)}
            {since !== undefined && `; tools and outcomes since ${timeOf(since)}`}
          </>
        )
      }
      resource={resource}
    >
      <div class="filters">
        <QueryField
          label={canReadBodies.value ? 'Words' : 'Filter'}
          keys={Object.keys(chips)}
          chips={chips}
          words={canReadBodies.value ? (search ?? '') : undefined}
          onChange={({ chips: changed, words }) =>
            setParams({ ...changed, cursor: '', ...(canReadBodies.value && { search: words }) })
          }
        />
        {isFiltered && (
          <a class="button plain" href={hrefOf('conversations')}>
            Clear
          </a>
        )}
      </div>
      {callsMissing && <MissingNote message={callsMissing.message} />}
      <div class="scroll">
        {threads.length === 0 && <p class="empty">{emptyText(resource.data, isFiltered)}</p>}
        <ol class="threads">
          {threads.map((one) => (
            <Thread key={one.thread} of={one} />
          ))}
        </ol>
      </div>
      {(next !== undefined || cursor) && (
        <div class="bar">
          {cursor && <a href={hrefOf('conversations', filter)}>Newest</a>}
          {next !== undefined && (
            <a href={hrefOf('conversations', { ...filter, cursor: String(next) })}>Older</a>
          )}
        </div>
      )}
    </View>
  );
}

function emptyText(page: FoundThreads | undefined, isFiltered: boolean): string {
  if (page?.keeps === undefined)
    return 'The broker keeps no bodies of messages: broker.keepBodies in signalbox.yaml.';
  return isFiltered ? 'Nothing matches.' : 'Nobody has said anything.';
}

function Thread({ of: { thread, messages, newest } }: { of: FoundThreads['threads'][number] }) {
  const { from_agent, to, created_at, size, text } = newest;
  const count = messages >= 1000 ? '1000+' : messages;
  return (
    <li>
      <a href={hrefOf('conversations', { thread })}>
        <strong class="name">
          <Text>{`${from_agent} → ${to}`}</Text>
        </strong>
        <span class="quiet">{messages > 1 && `${count} messages`}</span>
        <span class="at">
          <Age at={created_at} />
        </span>
        <span class="said">{text === undefined ? `JSON, ${bytes(size)}` : <Text>{text}</Text>}</span>
      </a>
    </li>
  );
}

function OneThread({ thread }: { thread: string }) {
  const { after } = route.value.params;
  const resource = useResource<Transcript>('threads/show', { thread, after });
  const { entries = [], more = false, callsMissing } = resource.data ?? {};
  const messages = entries.filter((entry) => entry.what === 'message');
  const last = messages.at(-1);
  return (
    <View title="Conversation" summary={<Name>{thread}</Name>} resource={resource}>
      <div class="bar">
        <span>
          <a class="button plain" href={hrefOf('conversations')}>
            All conversations
          </a>
          <a class="button plain" href={hrefOf('timeline', { thread })}>
            Timeline
          </a>
        </span>
        {canAct.value && messages.length > 0 && (
          <ConfirmButton
            label="Forget"
            question={`Forget what is kept of ${counted(messages.length, 'message')}${more ? ' and more' : ''}?`}
            isDangerous
            onConfirm={() =>
              act<{ forgotten: number }>('threads/forget', { thread }, ({ forgotten }) => ({
                text: `${counted(forgotten, 'message')} forgotten`,
              }))
            }
          />
        )}
      </div>
      {callsMissing && <MissingNote message={callsMissing.message} />}
      {entries.length === 0 && <p class="empty">Nothing of this thread is kept.</p>}
      <div class="scroll">
        <ol class="transcript">
          {entries.map((entry, n) => (
            <Entry key={keyOf(entry)} entry={entry} before={entries[n - 1]} />
          ))}
        </ol>
      </div>
      {more && last && (
        <div class="bar">
          <a href={hrefOf('conversations', { thread, after: String(last.seq) })}>Newer messages</a>
        </div>
      )}
    </View>
  );
}

function keyOf(entry: TranscriptEntry): string {
  if (entry.what === 'message') return `message ${entry.seq}`;
  return entry.what === 'call' ? `call ${entry.request_id}` : `approval ${entry.id}`;
}

function Entry({ entry, before }: { entry: TranscriptEntry; before: TranscriptEntry | undefined }) {
  const day = dayOf(entry.at);
  const item = useRef<HTMLLIElement>(null);
  const isChosen = entry.what === 'message' && String(entry.seq) === route.value.params.message;
  useEffect(() => {
    if (isChosen) item.current?.scrollIntoView({ block: 'center' });
  }, [isChosen]);
  return (
    <>
      {(before === undefined || dayOf(before.at) !== day) && <li class="day">{day}</li>}
      <li class={isChosen ? 'message chosen' : entry.what} ref={item}>
        {entry.what === 'message' ? <Message of={entry} /> : <Step of={entry} />}
      </li>
    </>
  );
}

function Time({ at }: { at: number }) {
  return (
    <time class="at" dateTime={new Date(at).toISOString()} title={timeOf(at)}>
      {clockTime(at)}
    </time>
  );
}

function Message({ of }: { of: TranscriptEntry & { what: 'message' } }) {
  const { from_agent, to, kind, state, body, size, at, seq } = of;
  const { thread, after } = route.value.params;
  return (
    <article>
      <p class="said-by">
        <strong>
          <Text>{from_agent}</Text>
        </strong>
        <span class="quiet">
          to <Text>{to}</Text>, <Text>{kind}</Text>
        </span>
        {state !== undefined && state !== 'acked' && <Outcome of={state === 'pending' ? 'waiting' : state} />}
        <a
          class="at"
          aria-label={`Link to the message of ${timeOf(at)}`}
          href={hrefOf('conversations', { thread, after, message: String(seq) })}
        >
          <Time at={at} />
        </a>
      </p>
      {body === undefined ? <p class="quiet">{bytes(size)}</p> : <MessageBody of={body} />}
      {state === 'pending' && isQuestion(kind) && isOperator(to) && canAct.value && (
        <AnswerButton of={{ inbox: to, seq }} from={from_agent} />
      )}
    </article>
  );
}

function isQuestion(kind: string): boolean {
  return kind === 'ask' || kind === 'task';
}

function Step({ of }: { of: Exclude<TranscriptEntry, { what: 'message' }> }) {
  if (of.what === 'approval')
    return (
      <p class="step">
        approval of <Text>{toolLabel(of)}</Text>
        {of.by && (
          <>
            {' '}
            by <Text>{of.by.agent}</Text>
          </>
        )}
        <Outcome of={of.state === 'pending' ? 'waiting' : of.state} />
        <Time at={of.at} />
      </p>
    );
  const { agent, tool, server, state, outcome, started_at, finished_at, reply_bytes, at } = of;
  return (
    <p class="step">
      <Text>{agent}</Text> called <Text class="tool">{toolLabel({ tool, server })}</Text>
      {finished_at !== undefined && (
        <span class="quiet">
          {duration(finished_at - (started_at ?? at))}
          {reply_bytes !== undefined && `, ${bytes(reply_bytes)}`}
        </span>
      )}
      <Outcome of={outcome ?? state} />
      <Time at={at} />
    </p>
  );
}
