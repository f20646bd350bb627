import { signal } from '@preact/signals';
import type { AttentionItem } from '@signalbox/daemon/dashboard';
import type { Message } from '@signalbox/protocol';
import { bodyTextOf } from '@signalbox/protocol/body-text';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { newKey, read } from '../api/request.ts';
import { serverTime } from '../model/clock.ts';
import { failureText, notify, perform } from '../model/notices.ts';
import { hrefOf } from '../model/route.ts';
import { Age } from '../parts/age.tsx';
import { Countdown } from '../parts/countdown.tsx';
import { MessageBody } from '../parts/message-body.tsx';
import { readableJson } from '../parts/readable-json.ts';
import { Text } from '../parts/text.tsx';

/** A question that waits in the inbox of an operator. */
interface Question {
  inbox: string;
  seq: number;
}

/** A text that is not sent yet, and the key under which its sending is repeated. */
interface Draft {
  text: string;
  key: string;
}

/** The characters of a question that a list shows. */
const startLength = 200;

const answering = signal<Question | undefined>(undefined);
/** The drafts by question: a form that was closed shows its text again. */
const drafts = new Map<string, Draft>();

/** Opens the form for the answer to a question. */
export function AnswerButton({ of, from }: { of: Question; from: string }) {
  return (
    <button
      type="button"
      class="button"
      aria-label={`Answer ${from}`}
      onClick={() => {
        answering.value = of;
      }}
    >
      Answer…
    </button>
  );
}

/** The beginning of a question, read once. */
export function QuestionStart({ of }: { of: Question }) {
  const [question, setQuestion] = useState<Message>();
  useEffect(() => {
    // One that is gone leaves the list.
    read<Message>('messages/show', { inbox: of.inbox, seq: of.seq }).then(setQuestion, () => undefined);
  }, []);
  const { body } = question ?? {};
  if (body === undefined) return null;
  const text = bodyTextOf(readableJson(body) ?? body)?.text ?? body;
  return <Text>{text.length > startLength ? `${text.slice(0, startLength)}…` : text}</Text>;
}

/**
 * The form for an answer, which is shown over the page with the question: the views below it read again without touching it. `items` are
 * those that need attention.
 */
export function AnswerForm({ items }: { items: readonly AttentionItem[] }) {
  const { value } = answering;
  if (value === undefined) return null;
  const isListed = items.some(({ question: one }) => one?.inbox === value.inbox && one.seq === value.seq);
  return <Form key={`${value.inbox} ${value.seq}`} of={value} isListed={isListed} />;
}

function Form({ of, isListed }: { of: Question; isListed: boolean }) {
  const name = `${of.inbox} ${of.seq}`;
  const dialog = useRef<HTMLDialogElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const [question, setQuestion] = useState<Message & { until: number }>();
  // A list that is cut, or was read before, says nothing of a question.
  const wasListed = useRef(false);
  wasListed.current ||= isListed;
  const isGone = wasListed.current && !isListed;
  const [{ text, key }, setDraft] = useState<Draft>(drafts.get(name) ?? { text: '', key: newKey() });
  const [failure, setFailure] = useState<string>();
  const [isSending, setSending] = useState(false);
  useLayoutEffect(() => {
    dialog.current?.showModal();
    field.current?.focus();
  }, []);
  useEffect(() => {
    const { inbox, seq } = of;
    read<Message>('messages/show', { inbox, seq }).then(
      (message) => setQuestion({ ...message, until: serverTime() + (message.remaining_ms ?? 0) }),
      (error) => setFailure(failureText(error)),
    );
  }, []);
  const close = (): void => {
    answering.value = undefined;
  };
  const write = (changed: string): void => {
    // Another text is another answer.
    const draft = { text: changed, key: newKey() };
    drafts.set(name, draft);
    setDraft(draft);
  };
  const isReady = question !== undefined && text.trim() !== '' && !isSending;
  const send = async (): Promise<void> => {
    if (!isReady) return;
    const { id, from } = question;
    setSending(true);
    try {
      await perform('messages/answer', { to: from.address, id, asked: of.inbox, text }, key);
      drafts.delete(name);
      notify({
        tone: 'good',
        text: `The answer for ${from.agent} is on disk`,
        href: hrefOf('timeline', { text: id }),
      });
      close();
    } catch (error) {
      setFailure(failureText(error));
      setSending(false);
    }
  };
  return (
    <dialog
      class="dialog"
      ref={dialog}
      aria-label="Answer"
      onClose={close}
      onKeyDown={(event) => {
        // Only the dialog closes; the page below stays.
        if (event.key === 'Escape') event.stopPropagation();
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.repeat) return;
        event.preventDefault();
        void send();
      }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <h2>
          {question ? (
            <Text>{`${question.kind === 'task' ? 'Task' : 'Question'} from ${question.from.agent}`}</Text>
          ) : (
            'Answer'
          )}
        </h2>
        {question && (
          <div>
            <p class="quiet">
              to <Text>{question.to}</Text>, <Age at={question.created_at} /> ago,{' '}
              <Countdown until={question.until} />
            </p>
            <MessageBody of={question.body ?? ''} />
          </div>
        )}
        <label>
          <span class="quiet">Answer; Ctrl or ⌘ and Enter send it</span>
          <textarea
            ref={field}
            rows={5}
            maxLength={100_000}
            value={text}
            onInput={(event) => write(event.currentTarget.value)}
          />
        </label>
        {isGone && !isSending && failure === undefined && (
          <p class="wrong" role="status">
            This does not wait any more: it was answered or withdrawn, or its time is over.
          </p>
        )}
        {failure !== undefined && (
          <p class="wrong" role="alert">
            Not sent: <Text>{failure}</Text>
          </p>
        )}
        <div class="actions">
          <button type="submit" class="button strong" disabled={!isReady}>
            Send
          </button>
          <button type="button" class="button plain" onClick={close}>
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  );
}
