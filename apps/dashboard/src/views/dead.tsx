import type { DeadLetter } from '@signalbox/client/operator';
import { useEffect, useState } from 'preact/hooks';
import { read } from '../api/request.ts';
import { useDeadLetters } from '../model/dead-letters.ts';
import { act } from '../model/notices.ts';
import { hrefOf, route, setParams } from '../model/route.ts';
import { canAct } from '../model/sign-in.ts';
import { Age } from '../parts/age.tsx';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { Drawer, Facts } from '../parts/drawer.tsx';
import { MessageBody } from '../parts/message-body.tsx';
import { bytes, counted, timeOf } from '../parts/numbers.ts';
import { Table } from '../parts/table.tsx';
import { Line, Name, Text } from '../parts/text.tsx';
import { View } from '../parts/view.tsx';

interface Changes {
  done: number[];
  unknown: number[];
  refused: { seq: number; code: string }[];
}

/** Messages that were given up, by inbox and reason. */
export function DeadView() {
  const resource = useDeadLetters();
  const { inbox, reason, seq } = route.value.params;
  const all = resource.data?.messages ?? [];
  const groups = [...Map.groupBy(all, (one) => JSON.stringify([one.inbox, one.reason])).values()];
  groups.sort((a, b) => b.length - a.length);
  const rows = all.filter((one) => (!inbox || one.inbox === inbox) && (!reason || one.reason === reason));
  const chosen = all.find((one) => String(one.seq) === seq);
  const isNarrowed = Boolean(inbox || reason);
  return (
    <View
      title="Dead letters"
      summary={
        <>
          {counted(all.length, 'message')} given up{resource.data?.more ? '; there are more' : ''}
        </>
      }
      resource={resource}
    >
      {all.length > 0 && (
        <ul class="groups" aria-label="Reasons">
          {groups.slice(0, 8).map((of) => (
            <Group key={of[0]!.seq} of={of} isChosen={of[0]!.inbox === inbox && of[0]!.reason === reason} />
          ))}
          {groups.length > 8 && <li class="more">{groups.length - 8} other reasons</li>}
        </ul>
      )}
      {(rows.length > 0 || isNarrowed) && (
        <div class="bar">
          <span>
            {isNarrowed ? `${counted(rows.length, 'message')} of this selection` : `all ${rows.length}`}
            {isNarrowed && (
              <a class="button plain" href={hrefOf('dead')}>
                Show all
              </a>
            )}
          </span>
          {canAct.value && rows.length > 0 && <Actions of={rows} isAll={!isNarrowed} />}
        </div>
      )}
      <div class="split">
        <Table
          label="Dead letters"
          rows={rows}
          keyOf={(one) => one.seq}
          selected={chosen?.seq}
          onSelect={(one) => setParams({ seq: String(one.seq) })}
          empty={
            all.length === 0
              ? 'No message was given up.'
              : 'None of them match: they were retried or dropped.'
          }
          columns={[
            { title: 'Inbox', width: '18%', cell: (one) => <Name>{one.inbox}</Name> },
            { title: 'From', width: '18%', isOptional: true, cell: (one) => <Name>{one.from.agent}</Name> },
            { title: 'Kind', width: '7rem', isOptional: true, cell: (one) => <Name>{one.kind}</Name> },
            { title: 'Reason', cell: (one) => <Line>{one.reason}</Line> },
            { title: 'Tries', width: '4rem', isNumber: true, isOptional: true, cell: (one) => one.attempts },
            { title: 'Given up', width: '7rem', isNumber: true, cell: (one) => <Age at={one.dead_at} /> },
          ]}
        />
        {chosen && <Details of={chosen} />}
      </div>
    </View>
  );
}

function Group({ of, isChosen }: { of: readonly DeadLetter[]; isChosen: boolean }) {
  const { inbox, reason } = of[0]!;
  return (
    <li>
      <a class={isChosen ? 'chip chosen' : 'chip'} href={hrefOf('dead', isChosen ? {} : { inbox, reason })}>
        <b>{of.length.toLocaleString('en')}</b>
        <Name>{inbox}</Name>
        <Line>{reason}</Line>
      </a>
    </li>
  );
}

function Actions({ of, isAll }: { of: readonly DeadLetter[]; isAll: boolean }) {
  const seqs = of.slice(0, 10_000).map(({ seq }) => seq);
  const [{ id } = { id: undefined }] = of;
  const href = hrefOf('timeline', of.length === 1 ? { text: id } : { agent: of[0]?.inbox.split('#')[0] });
  const many = seqs.length > 1;
  return (
    <div class="actions">
      <ConfirmButton
        label={many ? `Retry ${seqs.length.toLocaleString('en')}` : 'Retry'}
        {...(isAll && many && { question: 'Store all of them again?' })}
        onConfirm={() =>
          act<Changes>('dead-letters/retry', { seqs }, (changes) => ({
            ...textOf('stored again', changes),
            href,
          }))
        }
      />
      <ConfirmButton
        label={many ? `Drop ${seqs.length.toLocaleString('en')}` : 'Drop'}
        question={`Forget ${counted(seqs.length, 'message')} for good?`}
        isDangerous
        onConfirm={() => act<Changes>('dead-letters/drop', { seqs }, (changes) => textOf('dropped', changes))}
      />
    </div>
  );
}

/** Returns the result for each dead letter in words: how many were changed, which stay, and which no longer exist. */
function textOf(what: string, { done, unknown, refused }: Changes): { text: string; tone?: 'bad' } {
  const parts = [`${counted(done.length, 'message')} ${what}`];
  const codes = [...new Set(refused.map(({ code }) => code))].join(', ');
  if (refused.length > 0) parts.push(`${refused.length} stay, because of ${codes}`);
  if (unknown.length > 0) parts.push(`${unknown.length} were gone already`);
  return { text: parts.join('; '), ...(refused.length > 0 && { tone: 'bad' as const }) };
}

function Details({ of }: { of: DeadLetter }) {
  const {
    seq,
    inbox,
    id,
    from,
    kind,
    correlation_id,
    created_at,
    dead_at,
    attempts,
    size,
    reason,
    unawaited,
  } = of;
  return (
    <Drawer title={`${kind} for ${inbox}`} onClose={() => setParams({ seq: undefined })}>
      <Facts
        of={[
          ['Reason', <Text key="reason">{reason}</Text>],
          ['From', <Text key="from">{`${from.address} (${from.role})`}</Text>],
          ['Sent', timeOf(created_at)],
          ['Given up', timeOf(dead_at)],
          ['Tries', String(attempts)],
          ['Size', bytes(size)],
          ['Id', <Text key="id">{id}</Text>],
          ['Answer', unawaited ? 'nobody waits for it any more' : undefined],
          ['Answers', correlation_id === undefined ? undefined : <Text key="to">{correlation_id}</Text>],
          ['Number', String(seq)],
        ]}
      />
      {canAct.value ? <Body seq={seq} /> : <p class="quiet">Its body is shown to operators only.</p>}
      <div class="actions">
        <a class="button" href={hrefOf('timeline', { id: correlation_id ?? id })}>
          Timeline
        </a>
      </div>
      {canAct.value && <Actions of={[of]} isAll={false} />}
    </Drawer>
  );
}

function Body({ seq }: { seq: number }) {
  const [answer, setAnswer] = useState<{ body?: string; failure?: string }>();
  useEffect(() => {
    const abort = new AbortController();
    read<{ body?: string }>('dead-letters/show', { seq }, abort.signal).then(setAnswer, (error) => {
      if (!abort.signal.aborted) setAnswer({ failure: String(error.message) });
    });
    return () => abort.abort();
  }, [seq]);
  if (answer?.body === undefined)
    return <p class="quiet">{answer ? (answer.failure ?? 'It has no body.') : 'Reading …'}</p>;
  return (
    <section aria-label="Body">
      <MessageBody key={seq} of={answer.body} />
    </section>
  );
}
