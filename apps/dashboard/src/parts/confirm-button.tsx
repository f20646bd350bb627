import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Text } from './text.tsx';

interface Props {
  label: string;
  /** The question that is asked first. Without one the action runs at once. */
  question?: string;
  isDangerous?: boolean;
  /** The label of the button that cancels. */
  keepLabel?: string;
  onConfirm: () => Promise<unknown>;
}

/** A button that asks first if it has a question, and can't be pressed while its action runs. */
export function ConfirmButton({
  label,
  question,
  isDangerous = false,
  keepLabel = 'Cancel',
  onConfirm,
}: Props) {
  const [state, setState] = useState<'idle' | 'asking' | 'doing'>('idle');
  const first = useRef<HTMLButtonElement>(null);
  // A key that is held down must not confirm what it has just asked for.
  useLayoutEffect(() => {
    if (state === 'asking') first.current?.focus();
  }, [state]);
  const run = async (): Promise<void> => {
    setState('doing');
    try {
      await onConfirm();
    } finally {
      setState('idle');
    }
  };
  const look = isDangerous ? 'button danger' : 'button';
  if (state === 'asking')
    return (
      // biome-ignore lint/a11y/useSemanticElements: a fieldset can't stand in a row of buttons.
      <span
        class="asking"
        role="group"
        aria-label={question}
        onKeyDown={(event) => {
          if (event.key !== 'Escape') return;
          event.stopPropagation();
          setState('idle');
        }}
      >
        <span class="question">
          <Text>{question ?? ''}</Text>
        </span>
        <button type="button" class={look} onClick={() => void run()}>
          {label}
        </button>
        <button type="button" class="button plain" ref={first} onClick={() => setState('idle')}>
          {keepLabel}
        </button>
      </span>
    );
  return (
    <button
      type="button"
      class={look}
      disabled={state === 'doing'}
      onClick={() => (question === undefined ? void run() : setState('asking'))}
    >
      {state === 'doing' ? '…' : question === undefined ? label : `${label}…`}
    </button>
  );
}
