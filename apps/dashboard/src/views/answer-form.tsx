import { signal } from '@preact/signals';
import type { Message } from '@signalbox/protocol';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { newKey, read } from '../api/request.ts';
import { failureText, notify, perform } from '../model/notices.ts';
import { hrefOf } from '../model/route.ts';
import { Age } from '../parts/age.tsx';
import { MessageBody } from '../parts/message-body.tsx';
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

/** The form for an answer, which is shown over the page with the question: the views below it read again without touching it. */
export function AnswerForm() {
  const { value } = answering;
  return value === undefined ? null : <Form key={`${value.inbox} ${value.seq}`} of={value} />;
}

function Form({ of }: { of: Question }) {
  const name = `${of.inbox} ${of.seq}`;
  const dialog = useRef<HTMLDialogElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const [question, setQuestion] = useState<Message>();
  const [{ text, key }, setDraft] = useState<Draft>(drafts.get(name) ?? { text: '', key: newKey() });
  const [failure, setFailure] = useState<string>();
  const [isSending, setSending] = useState(false);
  useLayoutEffect(() => {
    dialog.current?.showModal();
    field.current?.focus();
  }, []);
  useEffect(() => {
    read<Message>('messages/show', { ...of }).then(setQuestion, (error) => setFailure(failureText(error)));
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
        <h2>{question ? <Text>{`${question.kind} of ${question.from.agent}`}</Text> : 'Answer'}</h2>
        {question && (
          <div>
            <p class="quiet">
              to <Text>{question.to}</Text>, <Age at={question.created_at} /> ago
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
